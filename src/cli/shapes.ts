import { printable } from './text.ts';

/**
 * A reply's fields that this program uses, by example: the shape is the message with everything unset. What is missing or of
 * another type reads as unset, which is also how the API's own JSON means it (null, absent and default are one). An array is
 * described by one element.
 */
export function read<Shape>(shape: Shape, value: unknown): Shape {
  if (typeof shape === 'string') return (typeof value === 'string' ? printable(value) : shape) as Shape;
  if (Array.isArray(shape)) {
    return (Array.isArray(value) ? value.map((element) => read<unknown>(shape[0], element)) : []) as Shape;
  }
  if (typeof shape !== 'object' || shape === null) return typeof value === typeof shape ? (value as Shape) : shape;
  const given: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {};
  return Object.fromEntries(
    Object.entries(shape).map(([key, each]) => [key, read<unknown>(each, given[key])]),
  ) as Shape;
}

export const SERVER = {
  id: '',
  name: '',
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
  startupPercent: 0,
};
export type Server = typeof SERVER;

const SUMMARY = { id: '', address: '', state: '', type: '', version: '', role: '', playersOnline: -1 };
/** The servers a user reaches; `playersOnline` is −1 where it is not known. */
export const MY_SERVERS = { my: [SUMMARY], shared: [SUMMARY] };
export type MyServers = typeof MY_SERVERS;

export const WHO_AM_I = { accountId: '', email: '', emailVerified: false };

export const VERSIONS = { versions: [''], latest: '' };

export const LOGS = { cursor: '', containerMissing: false };

export const MACHINE = {
  state: '',
  since: '',
  allowedEvents: [''],
  deadlines: [{ name: '', at: '' }],
  transitions: [{ at: '', event: '', from: '', to: '', cause: { kind: '', id: '', note: '' } }],
};
export type Machine = typeof MACHINE;

/** RFC 8628 §3.2; `interval` is 5 where nothing is said. */
export const DEVICE = {
  device_code: '',
  user_code: '',
  verification_uri: '',
  verification_uri_complete: '',
  expires_in: 0,
  interval: 5,
};
export type Device = typeof DEVICE;

/** A poll's reply: a key, or an error (RFC 8628 §3.5). */
export const DEVICE_POLL = { api_key: '', error: '' };
