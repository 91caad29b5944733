import type { components, paths } from '../http/api-types.ts';
import { printable } from './text.ts';

/** The API's messages by name. */
export type Messages = components['schemas'];

/** The API's message for `Shape`. Null means unset. */
export type Wire<Shape> = Shape extends string
  ? string | null
  : Shape extends readonly (infer Element)[]
    ? readonly Wire<Element>[]
    : Shape extends object
      ? { [Key in keyof Shape]?: Wire<Shape[Key]> } | null
      : Shape | null;

/**
 * Returns the fields of a reply that are in `shape`, an example with all fields unset. Missing fields, and those of
 * another type, are unset, as in the API's own JSON (null, absent and default are equal). An array is described by one
 * element. `clean` makes texts safe to print.
 */
export function read<Shape>(
  shape: Shape,
  reply: Wire<NoInfer<Shape>>,
  clean: (text: string) => string = printable,
): Shape {
  return fitted(shape, reply, clean) as Shape;
}

function fitted(shape: unknown, value: unknown, clean: (text: string) => string): unknown {
  if (typeof shape === 'string') return typeof value === 'string' ? clean(value) : shape;
  if (Array.isArray(shape)) return Array.isArray(value) ? value.map((element) => fitted(shape[0], element, clean)) : [];
  if (typeof shape !== 'object' || shape === null) return typeof value === typeof shape ? value : shape;
  const given: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {};
  return Object.fromEntries(Object.entries(shape).map(([key, each]) => [key, fitted(each, given[key], clean)]));
}

/** The messages reduced to the fields used here, each with its unset value. */
export const SERVER = {
  id: '',
  name: '',
  accountId: '',
  addr: '',
  state: '',
  type: '',
  version: '',
  ramMb: 0,
  installErrorSummary: '',
  installErrorSuggestion: '',
  startError: '',
  startErrorCode: '',
  startErrorSummary: '',
  startErrorSuggestion: '',
  startupPhase: '',
  startupItem: '',
  startupPercent: 0,
  stopsAt: '',
  stopIsRestart: false as boolean,
  update: {
    from: { type: '', version: '', build: '' },
    to: { type: '', version: '', build: '' },
    backupId: '',
    automatic: false as boolean,
    modsWithoutVersion: [''],
  },
} satisfies Partial<Messages['Server']>;
export type Server = typeof SERVER;

const SUMMARY = {
  id: '',
  address: '',
  state: '',
  type: '',
  version: '',
  role: '',
  playersOnline: -1,
} satisfies Partial<Messages['ServerSummary']>;
/** The servers a user can access. `playersOnline` is −1 if unknown. */
export const MY_SERVERS = { my: [SUMMARY], shared: [SUMMARY] };

export const WHO_AM_I = { accountId: '', email: '', emailVerified: false as boolean } satisfies Partial<
  Messages['WhoAmIResponse']
>;

export const EULA = {
  accepted: false as boolean,
  byOperator: false as boolean,
  url: '',
} satisfies Partial<Messages['EulaConsent']>;

export const VERSIONS = {
  versions: [''],
  latest: '',
  cores: [{ type: '', versions: [''], unavailable: '' }],
} satisfies Partial<Messages['ListMinecraftVersionsResponse']>;

export const CAPACITY = { activeServers: 0, ramUsableMb: '0', ramUsedMb: '0', diskFreeMb: '0' } satisfies Partial<
  Messages['CapacityResponse']
>;

export const LOGS = { cursor: '', containerMissing: false as boolean } satisfies Partial<
  Messages['GetServerLogsResponse']
>;

export const COMMAND = { output: '' } satisfies Messages['RunCommandResponse'];

export const MACHINE = {
  state: '',
  since: '',
  job: { kind: '', target: '' },
  jobError: '',
  allowedEvents: [''],
  deadlines: [{ name: '', at: '' }],
  transitions: [{ at: '', event: '', from: '', to: '', cause: { kind: '', id: '', note: '' } }],
} satisfies Partial<Messages['Machine']>;
export type Machine = typeof MACHINE;

/** RFC 8628 §3.2. `interval` defaults to 5. */
export const DEVICE = {
  device_code: '',
  user_code: '',
  verification_uri: '',
  verification_uri_complete: '',
  expires_in: 0,
  interval: 5,
} satisfies Partial<paths['/v1/public/device/start']['post']['responses'][200]['content']['application/json']>;
export type Device = typeof DEVICE;

/** A poll's reply: a key, or an error (RFC 8628 §3.5). */
export const DEVICE_POLL = { api_key: '', error: '' };
