import { CUSTOM, SANDBOX } from '../../game/cores.ts';
import type * as z from 'zod';
import { EngineError } from '../../engines/engine.ts';
import { modpackEnv } from '../../game/modpack-env.ts';
import { invalidFields } from '../../http/errors.ts';
import { int32, message, text } from '../../http/fields.ts';
import { isSlug, slugify } from '../../kernel/ids.ts';
import type { FieldViolation } from '../../kernel/status.ts';
import {
  CoreType,
  GameVersion,
  LEAST_RAM_MB,
  Motd,
  PLATFORMS,
  PackPlatform,
  PlanName,
  PropertyMap,
  type RamLimits,
  checkGame,
  checkPlan,
  checkProperties,
  checkRam,
} from './fields.ts';
import { ServerName } from './messages.ts';

const CONTAINER = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** A slug; some words are reserved. Validated together with the name (`checkNames`). */
const Label = text(64).meta({ pattern: '^$|^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$' });

export const CreateServerRequest = message({
  id: Label.default('').describe('Empty: derived from the name.'),
  name: ServerName.describe('Display name.'),
  hostname: Label.default('').describe('First label of the address. Empty = the id.'),
  container: text(128)
    .meta({ pattern: `^$|${CONTAINER.source}` })
    .default('')
    .describe('A label, used only if games run as processes. Empty = the id. The service names containers itself.'),
  addr: text(256).default('').describe('Ignored; the address follows from the host name.'),
  accountId: text(64).default('').describe("Empty or the caller's."),
  ramMb: int32({ min: 1 }).meta({ minimum: LEAST_RAM_MB.sandbox }).describe('At least 512 for all but the sandbox.'),
  type: CoreType.default('').describe('Core type. Empty = `sandbox`. `custom` runs the `server.jar` you upload.'),
  version: GameVersion.default('').describe('Minecraft version; may be empty for the sandbox and with a mod pack.'),
  plan: PlanName.default('').describe('`metered` (default) or `flat`.'),
  region: text(32).default('').describe('Empty = the default region.'),
  motd: Motd.default('').describe('See SetServerMotd.'),
  properties: PropertyMap.default({}).describe('Subset of server.properties.'),
  modpackPlatform: PackPlatform.meta({ pattern: `^(?:|${PLATFORMS.join('|')})$` })
    .default('')
    .describe('`modrinth`, `curseforge` or `ftb`.'),
  modpackRef: text(128).default(''),
  modpackVersion: text(128).default('').describe('Version id. Empty = the newest at install time.'),
}).meta({ id: 'CreateServerRequest' });

/** A request after `complete`. */
export type CompleteRequest = z.output<typeof CreateServerRequest>;

/** Defaults and limits of a request. */
export interface RequestDefaults extends RamLimits {
  config: { region: string; nodeLabel: string };
  /** Returns the codes of all regions. */
  drain: { regions(): readonly string[] };
  /** Minecraft versions of the sandbox core, newest first. */
  sandboxVersions: readonly string[];
}

/** Returns the request with defaults filled in. Throws INVALID_FIELD with every invalid field, or MAX_RAM. */
export function complete(given: CompleteRequest, defaults: RequestDefaults): CompleteRequest {
  const { config, sandboxVersions } = defaults;
  const regions = defaults.drain.regions();
  const type = given.type || (given.modpackPlatform === '' ? SANDBOX : '');
  const request: CompleteRequest = {
    ...given,
    type,
    version: given.version || (type === SANDBOX ? (sandboxVersions[0] ?? '') : ''),
    plan: given.plan || 'metered',
    region: given.region || (regions.includes(config.region) ? config.region : (regions[0] ?? config.region)),
  };
  const violations = [
    ...checkNames(request),
    ...checkGame(request, sandboxVersions),
    ...checkModpack(request),
    ...checkProperties(request),
    ...checkPlan(request.plan),
    ...(regions.includes(request.region)
      ? checkRam(request, defaults)
      : [{ field: 'region', description: 'is not a region of this service' }]),
  ];
  if (violations.length > 0) throw invalidFields(violations);
  return request;
}

function* checkNames({ id, name, hostname, container }: CompleteRequest): Generator<FieldViolation> {
  const slug = 'must be 1 to 40 of a-z, 0-9 and inner hyphens, and not a reserved name';
  if (id === '' && slugify(name) === '') {
    yield { field: 'id', description: 'is required if the name has no letters a-z and no digits' };
  }
  if (id !== '' && !isSlug(id)) yield { field: 'id', description: slug };
  if (hostname !== '' && !isSlug(hostname)) yield { field: 'hostname', description: slug };
  if (container !== '' && !CONTAINER.test(container)) {
    yield { field: 'container', description: 'must be letters, digits, and inner dots, hyphens and underscores' };
  }
}

function* checkModpack(request: CompleteRequest): Generator<FieldViolation> {
  const { type, modpackPlatform, modpackRef, modpackVersion } = request;
  if (modpackPlatform === '') {
    if (modpackRef !== '' || modpackVersion !== '') {
      yield { field: 'modpackPlatform', description: 'is required with a mod pack' };
    }
    return;
  }
  if (type === SANDBOX || type === CUSTOM) yield { field: 'type', description: `${type} does not support mod packs` };
  try {
    modpackEnv(request);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    yield { field: 'modpackRef', description: error.message };
  }
}
