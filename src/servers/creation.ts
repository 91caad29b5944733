import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { SLUG_LENGTH, slugify } from '../kernel/ids.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { causeOf, wholeAccount } from '../people/caller.ts';
import { type CompleteRequest, type RequestDefaults, complete } from './api/create-request.ts';
import { requireRam } from './api/fields.ts';
import { type ServerRow, serverExists } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { Servers } from './servers.ts';

/** How often a name that is taken gets another number behind it. */
const NAMES_TRIED = 50;

type Names = Pick<ServerRow, 'id' | 'hostname' | 'container'>;

/** A server that is wanted, each field checked by itself. Of its names, those that are '' are derived. */
type NewServer = Names &
  Pick<ServerRow, 'accountId' | 'name' | 'type' | 'version' | 'ramMb' | 'plan' | 'region' | 'motd' | 'properties'> &
  Pick<ServerRow, 'modpackPlatform' | 'modpackRef' | 'modpackVersion'>;

/** Makes servers. */
export interface Creation {
  /**
   * Checks a request and stores the server it asks for, under the first of its names that is free. Besides INVALID_FIELD and
   * what refuses its core, or the installation of its pack: FAILED_PRECONDITION REGION_UNAVAILABLE where its nodes are drained,
   * or down; RESOURCE_EXHAUSTED MAX_SERVERS or MAX_RAM; ALREADY_EXISTS where a name that was asked for is taken; ACCOUNT_MISMATCH,
   * KEY_LIMITED.
   */
  create(principal: Principal, asked: CompleteRequest): Promise<ServerNow>;
}

/** Defaults of requests, and checks that can refuse a new server. */
export interface CreationOptions extends RequestDefaults {
  servers: Pick<Servers, 'count' | 'ramMb' | 'create' | 'get'>;
  clock: Clock;
  /** Rejects for a server that may not run what it is made of. */
  cores: { require(wanted: NewServer): Promise<void> };
  /** `maxServers` 0: any number. */
  accountLimits: { of(accountId: string): { maxRamMb: number; maxServers: number } };
  /** `closed`: why nothing new begins in a region; undefined: it does. */
  drain: RequestDefaults['drain'] & { closed(region: string): { reason: string } | undefined };
}

/** To be opened once: all creations of an account wait for one another. */
export function openCreation(options: CreationOptions): Creation {
  const { servers, clock, cores, accountLimits, drain } = options;
  const withAccountLock = createKeyedMutex();
  return {
    async create(principal, asked) {
      const accountId = wholeAccount(principal, asked.accountId);
      const wanted = complete({ ...asked, accountId }, options);
      requireActive(wanted.region, drain.closed(wanted.region));
      await cores.require(wanted);
      const { maxServers } = accountLimits.of(accountId);
      // One creation of an account after the other: each counts those before it.
      return withAccountLock(accountId, async () => {
        // A repeated request gets its earlier result, even if that used up the account's limit.
        const { id, hostname } = wanted;
        if (id !== '' && (await servers.get(id)) !== undefined) throw serverExists({ id, hostname: hostname || id });
        if (maxServers > 0 && (await servers.count(accountId)) >= maxServers) {
          throw quotaExceeded('MAX_SERVERS', `account:${accountId}`, `An account may have ${maxServers} servers.`, {
            limit: String(maxServers),
          });
        }
        requireRam({ accountId, ramMb: wanted.ramMb, usedMb: await servers.ramMb(accountId) }, options);
        const cause = causeOf(principal);
        return createFirstFree(names(wanted), (name) => servers.create(newRow(wanted, name, clock.now()), cause));
      });
    },
  };
}

/** A region whose nodes are all drained has none. */
function requireActive(region: string, closed: { reason: string } | undefined): void {
  if (closed === undefined) return;
  const message = `Region ${region} accepts no new servers now: ${closed.reason}`;
  throw new StatusError('FAILED_PRECONDITION', 'REGION_UNAVAILABLE', message, { metadata: { region } });
}

/** The names a server may get, best first: the ones asked for, or derived ones with a number where they are taken. */
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
