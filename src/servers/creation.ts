import type * as z from 'zod';
import { EngineError } from '../engines/engine.ts';
import { CUSTOM, SANDBOX } from '../game/cores.ts';
import { modpackEnv } from '../game/modpack-env.ts';
import { invalidFields } from '../http/errors.ts';
import { int32, message, text } from '../http/fields.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { SLUG_LENGTH, isSlug, slugify } from '../kernel/ids.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import type { Tx } from '../store/store.ts';
import { type FieldViolation, StatusError, quotaExceeded } from '../kernel/status.ts';
import { causeOf, wholeAccount } from '../access/caller.ts';
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
  requireRam,
} from './api/fields.ts';
import { ServerName } from './api/messages.ts';
import { type ServerRow, serverExists } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { Servers } from './servers.ts';

/** Number of names tried, with a number appended, before creation fails because all are taken. */
const NAMES_TRIED = 50;

type Names = Pick<ServerRow, 'id' | 'hostname' | 'container'>;

/** Defaults of requests, and rooms that can refuse a new server. */
export interface CreationRules extends RamLimits {
  config: { region: string; nodeLabel: string };
  /** Rejects if the server must not run its core. */
  cores: { require(wanted: CompleteRequest): Promise<void> };
  /** `maxServers` 0: unlimited. */
  accountLimits: { of(accountId: string): { maxRamMb: number; maxServers: number } };
  drain: {
    /** Returns the codes of all regions. */
    regions(): readonly string[];
    /** Returns the reason why a region accepts no new servers; undefined if it does. */
    closed(region: string): { reason: string } | undefined;
  };
  /** Minecraft versions of the sandbox core, newest first. */
  sandboxVersions: readonly string[];
}

/** Creates servers, one at a time per account. */
export class Creation {
  readonly #servers: Servers;
  readonly #clock: Clock;
  readonly #rules: CreationRules;
  readonly #withAccountLock = createKeyedMutex();
  /** Keeps a name from others until its files are taken back. */
  readonly #withNameLock = createKeyedMutex();

  constructor(servers: Servers, clock: Clock, rules: CreationRules) {
    this.#servers = servers;
    this.#clock = clock;
    this.#rules = rules;
  }

  /**
   * Checks a request and stores the server under the first free name. Rejects with INVALID_FIELD; with errors of its
   * core or of its pack's installation; FAILED_PRECONDITION REGION_UNAVAILABLE if the region's nodes are drained or
   * down; RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM; ALREADY_EXISTS if a requested name is taken; ACCOUNT_MISMATCH;
   * KEY_LIMITED. `files.place` puts the server's files in place, in the same write as the server; a failure undoes the
   * write, and then `files.takeBack` must undo `place`.
   */
  async create(
    principal: Principal,
    request: CompleteRequest,
    files?: { place: (serverId: string, tx: Tx) => Promise<void>; takeBack: () => Promise<void> },
  ): Promise<ServerNow> {
    const { cores, accountLimits, drain } = this.#rules;
    const servers = this.#servers;
    const accountId = wholeAccount(principal, request.accountId);
    const wanted = complete({ ...request, accountId }, this.#rules);
    requireActive(wanted.region, drain.closed(wanted.region));
    await cores.require(wanted);
    const { maxServers } = accountLimits.of(accountId);
    // Each creation counts those before it.
    return this.#withAccountLock(accountId, async () => {
      // A repeated request gets its earlier result, even if that used up the account's limit.
      const { id, hostname } = wanted;
      if (id !== '' && (await servers.get(id)) !== undefined) throw serverExists({ id, hostname: hostname || id });
      if (maxServers > 0 && (await servers.count(accountId)) >= maxServers) {
        const message = `An account can have at most ${maxServers} servers.`;
        throw quotaExceeded('MAX_SERVERS', `account:${accountId}`, message, { limit: String(maxServers) });
      }
      requireRam({ accountId, ramMb: wanted.ramMb, usedMb: await servers.ramMb(accountId) }, this.#rules);
      const cause = causeOf(principal);
      let taken: unknown;
      for (const name of names(wanted)) {
        try {
          return await this.#withNameLock(name.id, async () => {
            try {
              return await servers.create(newRow(wanted, name, this.#clock.now()), cause, files?.place);
            } catch (error) {
              await files?.takeBack();
              throw error;
            }
          });
        } catch (error) {
          if (!(error instanceof StatusError) || error.code !== 'ALREADY_EXISTS') throw error;
          taken = error;
        }
      }
      throw taken;
    });
  }
}

function requireActive(region: string, closed: { reason: string } | undefined): void {
  if (closed === undefined) return;
  const message = `Region ${region} accepts no new servers now: ${closed.reason}`;
  throw new StatusError('FAILED_PRECONDITION', 'REGION_UNAVAILABLE', message, { metadata: { region } });
}

/** Yields candidate names, best first: the requested ones, or derived ones with a number appended if taken. */
function* names({ id, name, hostname, container }: CompleteRequest): Generator<Names> {
  const derived = id || slugify(name);
  yield { id: derived, hostname: hostname || derived, container: container || derived };
  if (id !== '' || hostname !== '') return;
  for (let number = 2; number <= NAMES_TRIED; number++) {
    const numbered = `${derived.slice(0, SLUG_LENGTH - 3).replace(/-$/, '')}-${number}`;
    yield { id: numbered, hostname: numbered, container: container || numbered };
  }
}

function newRow(wanted: CompleteRequest, names: Names, at: number): ServerRow {
  const { addr: _, ...fields } = wanted;
  return {
    ...fields,
    ...names,
    idleTimeoutMinutes: 0,
    awakeHours: '',
    awakeTimeZone: 'UTC',
    ignoredPlayers: '',
    tags: [],
    alertWebhookUrl: '',
    sftpEnabled: false,
    waitingRoom: false,
    networkFront: '',
    networkPort: null,
    clientVersions: 'auto',
    jvmPreset: 'default',
    jvmOptions: '',
    builds: 'pinned',
    pendingUpdate: null,
    refusedBuild: '',
    createdAt: at,
    updatedAt: at,
    coldStartsMs: [],
    lastStatus: '',
    snapshot: '',
    state: 'hibernated',
  };
}

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

/** Returns the request with defaults filled in. Throws INVALID_FIELD with every invalid field, or MAX_RAM. */
function complete(given: CompleteRequest, defaults: CreationRules): CompleteRequest {
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
