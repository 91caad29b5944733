import { type GrantAnswer, type GrantEvent, isWaiting, mayAskAgain } from '../../../machines/device-grant.ts';
import type { Cause } from '../../../machines/server-types.ts';
import type { StepListener } from '../../actors/machine-step.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { hashToken, parseToken } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { type RateLimiter, createRateLimiter } from '../../kernel/limits/rate-limiter.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import type { ClientRow } from '../apps/client-rows.ts';
import { findClient, isAdmitted } from '../apps/clients.ts';
import { type AuditActor, recordAudit } from '../audit/audit.ts';
import { requireRoomForKey } from '../keys/own-keys.ts';
import {
  type GrantActors,
  type GrantNow,
  createGrantActors,
  grantNotFound,
  sendToGrant,
  showDormant,
} from './actors.ts';
import { type GrantedToken, redeem } from './grant-tokens.ts';
import { type IssuedTokens, createIssuedTokens } from './issued-tokens.ts';
import { DEVICE } from './history.ts';
import * as rows from './rows.ts';
import { type GrantRequest, type StartError, type StartedGrant, startGrant } from './start.ts';
import { hashUserCode, readUserCode } from './user-codes.ts';

/** RFC 8628 §3.5; `invalid_grant` (RFC 6749 §5.2) for a code that is unknown, or belongs to another client. */
export type PollError = Exclude<GrantAnswer, 'approved' | 'redeemed'> | 'invalid_grant';

/**
 * The data shown on the consent page. The client comes from the registry; `ip` and `userAgent` belong to the device.
 */
export interface ConsentRequest {
  id: string;
  userCode: string;
  /** Null: the command-line client, which gets full access. */
  client: Pick<ClientRow, 'id' | 'name' | 'homepage'> | null;
  scopes: string[];
  ip: string;
  userAgent: string;
  createdAt: number;
  expiresAt: number;
}

/** The user who approves or denies. */
export interface GrantUser {
  userId: string;
  accountId: string;
}

/** A decision on a grant: the user and the reason. */
export interface Decision {
  actor: AuditActor;
  accountId: string;
  cause: Cause;
}

/** All device grants of the installation (RFC 8628). */
export interface Grants {
  start(request: GrantRequest): Promise<StartedGrant | { error: StartError }>;
  /**
   * Answers a device's poll. The token is returned once, after it is stored. Within a minute it is returned again if
   * `received` resolves with false, or if this process ends before it resolves. With a `clientId`, only that client's
   * grants are found. UNAVAILABLE if it could not be stored, in which case it had no effect.
   */
  poll(
    deviceCode: string,
    clientId?: string,
    received?: Promise<boolean>,
  ): Promise<GrantedToken | { error: PollError }>;
  /** Returns the grant waiting under a code, in any spelling; undefined for unknown, expired and used codes alike. */
  find(userCode: string): Promise<ConsentRequest | undefined>;
  /**
   * Approves a grant, so that the device gets its token. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision;
   * FAILED_PRECONDITION CLIENT_DISABLED; RESOURCE_EXHAUSTED MAX_KEYS.
   */
  approve(id: string, user: GrantUser): Promise<void>;
  /** Denies a grant. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision. */
  deny(id: string, user: GrantUser): Promise<void>;
  /** Denies a grant on behalf of an operator. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision. */
  intervene(id: string, decision: Decision): Promise<void>;
  /** Reports each stored change of a grant's state. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void;
  /** Returns the grants in memory, for operators. */
  live(): GrantNow[];
  /** Expires grants every minute, even if no device polls them. Returns a function that stops this. */
  expireByThemselves(): () => void;
  /** Call it once at the start. Deletes, after a minute, tokens whose answers were lost by the previous process. */
  sweepLater(): void;
}

export interface GrantsOptions {
  store: Store;
  clock: Clock;
  secret: Secret;
  log: Log;
}

const EXPIRED_AT_ONCE = 1_000;
/** Limit on polls of one grant; clients should poll every five seconds. */
const POLLS = { burst: 30, perSecond: 1 };
const OVER: Cause = { kind: 'system', id: 'expired', note: 'its ten minutes are over' };

/** Creates the device grants, from start to token. `actors.ts` stores their steps. */
export function createGrants(options: GrantsOptions): Grants {
  return new DeviceGrants(options);
}

/** Public members are bound instance properties, so that wrappers can spread the object. */
class DeviceGrants implements Grants {
  readonly #options: GrantsOptions;
  readonly #actors: GrantActors;
  readonly #issuedTokens: IssuedTokens;
  readonly #polls: RateLimiter;

  constructor(options: GrantsOptions) {
    this.#options = options;
    this.#actors = createGrantActors(options);
    this.#issuedTokens = createIssuedTokens(options);
    this.#polls = createRateLimiter(POLLS, options.clock);
  }

  readonly start: Grants['start'] = (request) => startGrant({ ...this.#options, feed: this.#actors.feed }, request);

  readonly poll: Grants['poll'] = async (deviceCode, clientId, received = Promise.resolve(true)) => {
    const { store, clock } = this.#options;
    if (parseToken(deviceCode) !== 'device') return { error: 'invalid_grant' };
    const deviceHash = hashToken(deviceCode);
    const at = clock.now();
    const issued = this.#issuedTokens.of(deviceCode);
    const found = await rows.getGrantByDevice(store, deviceHash);
    if (!found || (clientId !== undefined && clientId !== found.clientId)) return { error: 'invalid_grant' };
    // Each early poll is a write, so polls beyond the limit are not stored.
    if (this.#polls.take(found.id).waitMs > 0) return { error: 'slow_down' };
    const asked = sendToGrant({ store, actors: this.#actors }, found.id, {
      cause: DEVICE,
      facts: async (db, row) => ({ admitted: await isAdmitted(db, row.clientId), lost: await issued.lost(db, row) }),
      event: ({ admitted, lost }) => ({ type: 'POLL', at, admitted, lost: lost !== undefined }),
      async follow({ tx, row: { id, userAgent }, answer, context, isChange }, { admitted, lost }) {
        if (answer !== 'redeemed') return { error: answer as PollError };
        // Unchanged: an earlier poll created its token.
        if (!isChange && !(lost && mayAskAgain(context, { at, admitted, lost: true })))
          return { error: 'expired_token' } as const;
        issued.begin(id);
        if (!isChange && lost) return lost;
        const { clientId, scope, userId } = context;
        if (userId === null) throw new Error('a grant was redeemed without an approval');
        const token = await redeem(tx, { clientId, scope, userId, userAgent, at });
        await issued.keep(tx, id, token, at);
        return token;
      },
    });
    // Without a write there is no token, and the poll rejects.
    void asked.then(
      async () => issued.end(await received),
      () => issued.end(false),
    );
    return (await asked) ?? { error: 'invalid_grant' };
  };

  readonly find: Grants['find'] = async (typed) => {
    const { store, clock, secret } = this.#options;
    const userCode = readUserCode(typed);
    if (userCode === undefined) return undefined;
    const row = await rows.getGrantByUserCode(store, hashUserCode(secret, userCode));
    if (!row || !isWaiting(row.state) || row.expiresAt <= clock.now()) return undefined;
    const client = row.clientId === null ? null : await findClient(store, row.clientId);
    if (client === undefined) return undefined;
    const { id, ip, userAgent, createdAt, expiresAt } = row;
    const { context } = showDormant(row);
    return {
      id,
      userCode,
      client: client && { id: client.id, name: client.name, homepage: client.homepage },
      scopes: context.scope.split(' '),
      ip,
      userAgent,
      createdAt,
      expiresAt,
    };
  };

  readonly approve: Grants['approve'] = async (id, user) => {
    const at = this.#options.clock.now();
    const { userId } = user;
    await this.#decide(id, inBrowser(user, 'approved'), ({ admitted }) => ({ type: 'APPROVE', at, admitted, userId }));
  };

  readonly deny: Grants['deny'] = async (id, user) => {
    const at = this.#options.clock.now();
    await this.#decide(id, inBrowser(user, 'denied'), () => ({ type: 'DENY', at }));
  };

  readonly intervene: Grants['intervene'] = async (id, decision) => {
    const at = this.#options.clock.now();
    await this.#decide(id, decision, () => ({ type: 'DENY', at }));
  };

  readonly follow: Grants['follow'] = (listener) => this.#actors.feed.follow(listener);
  readonly live: Grants['live'] = () => this.#actors.live();
  readonly expireByThemselves: Grants['expireByThemselves'] = () =>
    every(this.#options.clock, MINUTE_MS, () => void this.#expireDue());
  readonly sweepLater: Grants['sweepLater'] = () => this.#issuedTokens.sweepLater();

  async #decide(
    id: string,
    { actor, accountId, cause }: Decision,
    event: (facts: { admitted: boolean }) => GrantEvent,
  ): Promise<void> {
    const { store, clock, log } = this.#options;
    const decided = await sendToGrant({ store, actors: this.#actors }, id, {
      cause,
      facts: async (db, { clientId }) => ({ admitted: await isAdmitted(db, clientId) }),
      event,
      async follow({ tx, row: { clientId }, answer }) {
        const at = clock.now();
        if (answer === 'approved' && clientId === null) await requireRoomForKey(tx, accountId, at);
        const action = answer === 'approved' ? 'grant.approve' : 'grant.deny';
        const reason = cause.kind === 'operator' ? `: ${cause.note}` : '';
        const detail = `${id} of ${clientId ?? 'the command line'}${reason}`;
        await recordAudit(tx, actor, { action, accountId, detail, at });
        return answer;
      },
    });
    if (decided === undefined) throw grantNotFound();
    log.info({ grant: id, user: actor.userId }, 'device grant %s', decided);
  }

  async #expireDue(): Promise<void> {
    const { store, clock, log } = this.#options;
    const at = clock.now();
    try {
      for (const id of await rows.listOverdueGrants(store, at, EXPIRED_AT_ONCE)) {
        await sendToGrant({ store, actors: this.#actors }, id, {
          cause: OVER,
          facts: async () => ({}),
          event: () => ({ type: 'EXPIRE', at }),
          follow: async () => {},
        });
      }
    } catch (err) {
      log.warn({ err }, 'could not end expired grants; trying again in a minute');
    }
  }
}

function inBrowser({ userId, accountId }: GrantUser, what: string): Decision {
  const cause: Cause = { kind: 'user', id: userId, note: `${what} in the browser` };
  return { actor: { userId, through: 'session' }, accountId, cause };
}
