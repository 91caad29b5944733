import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { SLUG_LENGTH, slugify } from '../kernel/ids.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { causeOf, wholeAccount } from '../access/caller.ts';
import { type CompleteRequest, type RequestDefaults, complete } from './api/create-request.ts';
import { requireRam } from './api/fields.ts';
import { type ServerRow, serverExists } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { Servers } from './servers.ts';

/** Number of names tried, with a number appended, before creation fails because all are taken. */
const NAMES_TRIED = 50;

type Names = Pick<ServerRow, 'id' | 'hostname' | 'container'>;

/** A server to create, with each field validated on its own. Empty names are derived. */
type NewServer = Names &
  Pick<ServerRow, 'accountId' | 'name' | 'type' | 'version' | 'ramMb' | 'plan' | 'region' | 'motd' | 'properties'> &
  Pick<ServerRow, 'modpackPlatform' | 'modpackRef' | 'modpackVersion'>;

/** Creates servers. */
export interface Creation {
  /**
   * Checks a request and stores the server under the first free name. Rejects with INVALID_FIELD; with errors of its
   * core or of its pack's installation; FAILED_PRECONDITION REGION_UNAVAILABLE if the region's nodes are drained or
   * down; RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM; ALREADY_EXISTS if a requested name is taken; ACCOUNT_MISMATCH;
   * KEY_LIMITED.
   */
  create(principal: Principal, request: CompleteRequest): Promise<ServerNow>;
}

/** Defaults of requests, and checks that can refuse a new server. */
export interface CreationOptions extends RequestDefaults {
  servers: Servers;
  clock: Clock;
  /** Rejects if the server must not run its core. */
  cores: { require(wanted: NewServer): Promise<void> };
  /** `maxServers` 0: unlimited. */
  accountLimits: { of(accountId: string): { maxRamMb: number; maxServers: number } };
  /** `closed` returns the reason why a region accepts no new servers; undefined if it does. */
  drain: RequestDefaults['drain'] & { closed(region: string): { reason: string } | undefined };
}

/** Open it once: creations of an account are serialized. */
export function openCreation(options: CreationOptions): Creation {
  const { servers, clock, cores, accountLimits, drain } = options;
  const withAccountLock = createKeyedMutex();
  return {
    async create(principal, request) {
      const accountId = wholeAccount(principal, request.accountId);
      const wanted = complete({ ...request, accountId }, options);
      requireActive(wanted.region, drain.closed(wanted.region));
      await cores.require(wanted);
      const { maxServers } = accountLimits.of(accountId);
      // Serialized per account, so that each creation counts those before it.
      return withAccountLock(accountId, async () => {
        // A repeated request gets its earlier result, even if that used up the account's limit.
        const { id, hostname } = wanted;
        if (id !== '' && (await servers.get(id)) !== undefined) throw serverExists({ id, hostname: hostname || id });
        if (maxServers > 0 && (await servers.count(accountId)) >= maxServers) {
          const message = `An account can have at most ${maxServers} servers.`;
          throw quotaExceeded('MAX_SERVERS', `account:${accountId}`, message, { limit: String(maxServers) });
        }
        requireRam({ accountId, ramMb: wanted.ramMb, usedMb: await servers.ramMb(accountId) }, options);
        const cause = causeOf(principal);
        return createFirstFree(names(wanted), (name) => servers.create(newRow(wanted, name, clock.now()), cause));
      });
    },
  };
}

/** Throws REGION_UNAVAILABLE if the region is closed. */
function requireActive(region: string, closed: { reason: string } | undefined): void {
  if (closed === undefined) return;
  const message = `Region ${region} accepts no new servers now: ${closed.reason}`;
  throw new StatusError('FAILED_PRECONDITION', 'REGION_UNAVAILABLE', message, { metadata: { region } });
}

/** Yields candidate names, best first: the requested ones, or derived ones with a number appended if taken. */
function* names({ id, name, hostname, container }: NewServer): Generator<Names> {
  const derived = id || slugify(name);
  yield { id: derived, hostname: hostname || derived, container: container || derived };
  if (id !== '' || hostname !== '') return;
  for (let number = 2; number <= NAMES_TRIED; number++) {
    const numbered = `${derived.slice(0, SLUG_LENGTH - 3).replace(/-$/, '')}-${number}`;
    yield { id: numbered, hostname: numbered, container: container || numbered };
  }
}

async function createFirstFree(
  candidates: Generator<Names>,
  create: (names: Names) => Promise<ServerNow>,
): Promise<ServerNow> {
  let taken: unknown;
  for (const candidate of candidates) {
    try {
      return await create(candidate);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 'ALREADY_EXISTS') throw error;
      taken = error;
    }
  }
  throw taken;
}

function newRow(wanted: NewServer, names: Names, at: number): ServerRow {
  const { accountId, name, type, version, ramMb, plan, region, motd, properties } = wanted;
  const { modpackPlatform, modpackRef, modpackVersion } = wanted;
  return {
    ...names,
    name,
    accountId,
    type,
    version,
    ramMb,
    plan,
    region,
    motd,
    properties,
    idleTimeoutMinutes: 0,
    alertWebhookUrl: '',
    sftpEnabled: false,
    waitingRoom: false,
    clientVersions: 'auto',
    modpackPlatform,
    modpackRef,
    modpackVersion,
    createdAt: at,
    updatedAt: at,
    coldStartsMs: [],
    lastStatus: '',
    snapshot: '',
    state: 'hibernated',
  };
}
