import { isDeepStrictEqual } from 'node:util';
import { createActor } from 'xstate';
import {
  EXPIRES_IN_MS,
  type GrantAnswer,
  type GrantEvent,
  deviceGrantMachine,
  grantAnswer,
  grantState,
  isWaiting,
  mayAskAgain,
} from '../../machines/device-grant.ts';
import type { Cause } from '../../machines/server-types.ts';
import { requireRoomForKey } from '../access/keys.ts';
import { hashUserCode, mintUserCode, readUserCode } from '../accounts/user-code.ts';
import { Outdated } from '../actors/actor-kind.ts';
import { type StepListener, pathOf } from '../actors/machine-step.ts';
import { type AuditActor, recordAudit } from '../audit/audit.ts';
import { FULL_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { hashToken, mintToken, parseToken, randomBase62 } from '../kernel/ids.ts';
import { type RateLimiter, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import { DEVICE, type GrantActors, type GrantNow, createGrantActors, showDormant, withChange } from './actors.ts';
import type { ClientRow } from './app-rows.ts';
import { findClient, isAdmitted, scopeOf } from './clients.ts';
import {
  type GrantRow,
  getGrantByDevice,
  getGrantByUserCode,
  insertGrant,
  listOverdueGrants,
  purgeGrants,
} from './rows.ts';
import { type GrantedToken, IssuedTokens, redeem } from './tokens.ts';

/** The two codes of a new grant, which cannot be read again. */
export interface StartedGrant {
  deviceCode: string;
  /** For example `WDJB-MJHT`. */
  userCode: string;
  expiresInMs: number;
  intervalMs: number;
}

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

/** A decision on a grant: the user and the reason. */
export interface Decision {
  actor: AuditActor;
  accountId: string;
  cause: Cause;
}

/** A grant after an event, for the write that stores it. */
interface GrantStep extends GrantNow {
  tx: Tx;
  row: GrantRow;
  /** Whether the state has changed. */
  isChange: boolean;
}

const ATTEMPTS = 5;
/** Rows are stored this long after their end, so that no code is reused while the old one may still be displayed. */
const KEPT_MS = HOUR_MS;
const PURGED_AT_ONCE = 50;
const USER_AGENT_CHARS = 256;
const EXPIRED_AT_ONCE = 1_000;
/** Limit on polls of one grant; clients should poll every five seconds. */
const POLLS = { burst: 30, perSecond: 1 };
const OVER: Cause = { kind: 'system', id: 'expired', note: 'its ten minutes are over' };

/** All device grants of the installation (RFC 8628), from start to token. `actors.ts` stores their steps. */
export class Grants {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #secret: Secret;
  readonly #log: Log;
  readonly #actors: GrantActors;
  readonly #issuedTokens: IssuedTokens;
  readonly #polls: RateLimiter;

  constructor({ store, clock, secret, log }: { store: Store; clock: Clock; secret: Secret; log: Log }) {
    this.#store = store;
    this.#clock = clock;
    this.#secret = secret;
    this.#log = log;
    this.#actors = createGrantActors(store, clock, log);
    this.#issuedTokens = new IssuedTokens(store, clock, log);
    this.#polls = createRateLimiter(POLLS, clock);
  }

  /**
   * Starts a grant. `clientId` is null for the command-line client, whose grant yields an API key of full scope.
   * `scope` has the scopes separated by blanks, '' for the default. The user who approves sees `ip` and `userAgent`.
   * Returns an error of RFC 6749 §5.2 for an unknown or disabled client, and for a scope it is not registered for.
   */
  async start({
    clientId,
    scope: requested,
    ip,
    userAgent,
  }: {
    clientId: string | null;
    scope: string;
    ip: string;
    userAgent: string;
  }): Promise<StartedGrant | { error: 'invalid_client' | 'invalid_scope' }> {
    const client = clientId === null ? null : await findClient(this.#store, clientId);
    if (client === undefined) return { error: 'invalid_client' };
    const scope = client === null ? FULL_SCOPES.join(' ') : scopeOf(client, requested);
    if (scope === undefined) return { error: 'invalid_scope' };
    const at = this.#clock.now();
    const id = `grt_${randomBase62(16)}`;
    const actor = createActor(deviceGrantMachine, { input: { id, clientId, scope, at } });
    const snapshot = actor.getSnapshot();
    const { expiresAt, intervalMs } = snapshot.context;
    const state = grantAnswer(snapshot);
    const cause = { ...DEVICE, note: `asked for by ${client?.name ?? 'the command line'}` };
    const change = { at, event: 'CREATE', from: '', to: grantState(state), cause };
    const codes = await this.#insert({
      id,
      clientId,
      userId: null,
      ip,
      userAgent: printable(userAgent),
      state,
      changedAt: at,
      history: withChange('[]', change),
      createdAt: at,
      expiresAt,
      snapshot: JSON.stringify(actor.getPersistedSnapshot()),
    });
    this.#actors.feed.publish(() => ({ ...change, id, kind: 'grant', fromPath: '', toPath: pathOf(snapshot.value) }));
    return { ...codes, expiresInMs: EXPIRES_IN_MS, intervalMs };
  }

  /** Stores a new grant under new codes. Also deletes old grants. */
  async #insert(row: Omit<GrantRow, 'deviceHash' | 'userHmac'>): Promise<{ deviceCode: string; userCode: string }> {
    for (let attempt = 1; ; attempt++) {
      const codes = { deviceCode: mintToken('device'), userCode: mintUserCode() };
      const deviceHash = hashToken(codes.deviceCode);
      const userHmac = hashUserCode(this.#secret, codes.userCode);
      try {
        await this.#store.write(async (tx) => {
          await purgeGrants(tx, row.createdAt - KEPT_MS, PURGED_AT_ONCE);
          await insertGrant(tx, { ...row, deviceHash, userHmac });
        });
        return codes;
      } catch (error) {
        // There are 25.6 billion user codes; this one is in use.
        if (!isDuplicate(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Answers a device's poll. The token is returned once, after it is stored. Within a minute it is returned again if
   * `received` resolves with false, or if this process ends before it resolves. With `ofClient`, only that client's
   * grants are found. UNAVAILABLE if it could not be stored, in which case it had no effect.
   */
  async poll(
    deviceCode: string,
    ofClient?: string,
    received = Promise.resolve(true),
  ): Promise<GrantedToken | { error: PollError }> {
    if (parseToken(deviceCode) !== 'device') return { error: 'invalid_grant' };
    const at = this.#clock.now();
    const found = await getGrantByDevice(this.#store, hashToken(deviceCode));
    if (!found || (ofClient !== undefined && ofClient !== found.clientId)) return { error: 'invalid_grant' };
    const { id } = found;
    // Each early poll is a write, so polls beyond the limit are not stored.
    if (this.#polls.take(id).waitMs > 0) return { error: 'slow_down' };
    const issuedTokens = this.#issuedTokens;
    const answered = Symbol(id);
    const asked = this.#send(id, {
      cause: DEVICE,
      facts: async (db, row) => ({
        admitted: await isAdmitted(db, row.clientId),
        lost: await issuedTokens.lost(db, row, deviceCode),
      }),
      event: ({ admitted, lost }) => ({ type: 'POLL', at, admitted, lost: lost !== undefined }),
      async follow({ tx, row: { userAgent }, answer, context, isChange }, { admitted, lost }) {
        if (answer !== 'redeemed') return { error: answer as PollError };
        // Unchanged: an earlier poll created its token.
        if (!isChange && !(lost && mayAskAgain(context, { at, admitted, lost: true })))
          return { error: 'expired_token' } as const;
        issuedTokens.begin(id, answered);
        if (!isChange && lost) return lost;
        const { clientId, scope, userId } = context;
        if (userId === null) throw new Error('a grant was redeemed without an approval');
        const token = await redeem(tx, { clientId, scope, userId, userAgent, at });
        await issuedTokens.keep(tx, id, deviceCode, token, at);
        return token;
      },
    });
    // Without a write there is no token, and the poll rejects.
    void asked.then(
      async () => issuedTokens.end(id, answered, await received),
      () => issuedTokens.end(id, answered, false),
    );
    return (await asked) ?? { error: 'invalid_grant' };
  }

  /** Returns the grant waiting under a code, in any spelling; undefined for unknown, expired and used codes alike. */
  async find(typed: string): Promise<ConsentRequest | undefined> {
    const userCode = readUserCode(typed);
    if (userCode === undefined) return undefined;
    const row = await getGrantByUserCode(this.#store, hashUserCode(this.#secret, userCode));
    if (!row || !isWaiting(row.state) || row.expiresAt <= this.#clock.now()) return undefined;
    const client = row.clientId === null ? null : await findClient(this.#store, row.clientId);
    if (client === undefined) return undefined;
    const { id, ip, userAgent, createdAt, expiresAt } = row;
    return {
      id,
      userCode,
      client: client && { id: client.id, name: client.name, homepage: client.homepage },
      scopes: showDormant(row).context.scope.split(' '),
      ip,
      userAgent,
      createdAt,
      expiresAt,
    };
  }

  /**
   * Approves a grant, so that the device gets its token. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision;
   * FAILED_PRECONDITION CLIENT_DISABLED; RESOURCE_EXHAUSTED MAX_KEYS.
   */
  async approve(id: string, user: { userId: string; accountId: string }): Promise<void> {
    const at = this.#clock.now();
    const { userId } = user;
    await this.#decide(id, inBrowser(user, 'approved'), ({ admitted }) => ({ type: 'APPROVE', at, admitted, userId }));
  }

  /** Denies a grant. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision. */
  async deny(id: string, user: { userId: string; accountId: string }): Promise<void> {
    await this.intervene(id, inBrowser(user, 'denied'));
  }

  /** Denies a grant on behalf of an operator. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision. */
  async intervene(id: string, decision: Decision): Promise<void> {
    const at = this.#clock.now();
    await this.#decide(id, decision, () => ({ type: 'DENY', at }));
  }

  /** Reports each stored change of a grant's state. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void {
    return this.#actors.feed.follow(listener);
  }

  /** Returns the grants in memory, for operators. */
  live(): GrantNow[] {
    return this.#actors.live();
  }

  /** Expires grants every minute, even if no device polls them. Returns a function that stops this. */
  expireByThemselves(): () => void {
    return every(this.#clock, MINUTE_MS, () => void this.#expireDue());
  }

  /** Call it once at the start. Deletes, after a minute, tokens whose answers were lost by the previous process. */
  sweepLater(): void {
    this.#issuedTokens.sweepLater();
  }

  async #decide(
    id: string,
    { actor, accountId, cause }: Decision,
    event: (facts: { admitted: boolean }) => GrantEvent,
  ): Promise<void> {
    const decided = await this.#send(id, {
      cause,
      facts: async (db, { clientId }) => ({ admitted: await isAdmitted(db, clientId) }),
      event,
      follow: async ({ tx, row: { clientId }, answer }) => {
        const at = this.#clock.now();
        if (answer === 'approved' && clientId === null) await requireRoomForKey(tx, accountId, at);
        const action = answer === 'approved' ? 'grant.approve' : 'grant.deny';
        const reason = cause.kind === 'operator' ? `: ${cause.note}` : '';
        const detail = `${id} of ${clientId ?? 'the command line'}${reason}`;
        await recordAudit(tx, actor, { action, accountId, detail, at });
        return answer;
      },
    });
    if (decided === undefined) throw grantNotFound();
    this.#log.info({ grant: id, user: actor.userId }, 'device grant %s', decided);
  }

  async #expireDue(): Promise<void> {
    const at = this.#clock.now();
    try {
      for (const id of await listOverdueGrants(this.#store, at, EXPIRED_AT_ONCE)) {
        await this.#send(id, {
          cause: OVER,
          facts: async () => ({}),
          event: () => ({ type: 'EXPIRE', at }),
          follow: async () => {},
        });
      }
    } catch (err) {
      this.#log.warn({ err }, 'could not end expired grants; trying again in a minute');
    }
  }

  /**
   * Sends an event to a grant. `facts` are the inputs of the event: they are read before it is sent and again in the
   * write that stores it, where they must still hold. Resolves, once it is stored, with the result of `follow` in the
   * same write; undefined for an unknown grant. NOT_FOUND GRANT_NOT_FOUND if the grant does not wait for a decision;
   * FAILED_PRECONDITION CLIENT_DISABLED; UNAVAILABLE if it could not be stored, in which case it had no effect.
   */
  async #send<Facts, T>(
    id: string,
    {
      cause,
      facts,
      event,
      follow,
    }: {
      cause: Cause;
      facts: (db: Sql, row: GrantRow) => Promise<Facts>;
      event: (facts: Facts) => GrantEvent;
      follow: (step: GrantStep, facts: Facts) => Promise<T>;
    },
  ): Promise<T | undefined> {
    return this.#actors.use(id, async (live) => {
      const { row } = live;
      const known = await facts(this.#store, row);
      const { snapshot: before, phase } = live;
      if (phase === 'gone') throw new Outdated();
      const given = event(known);
      if (!before.can(given)) {
        await this.#actors.settled(live);
        const isDisabled = given.type === 'APPROVE' && !given.admitted && before.can({ ...given, admitted: true });
        throw isDisabled ? clientDisabled() : grantNotFound();
      }
      return this.#actors.give(live, { ...given, cause }, async (tx, after) => {
        if (!isDeepStrictEqual(await facts(tx, row), known)) throw new Outdated();
        const isChange = pathOf(before.value) !== pathOf(after.value);
        return follow({ tx, row, answer: grantAnswer(after), context: after.context, isChange }, known);
      });
    });
  }
}

function inBrowser({ userId, accountId }: { userId: string; accountId: string }, what: string): Decision {
  const cause: Cause = { kind: 'user', id: userId, note: `${what} in the browser` };
  return { actor: { userId, through: 'session' }, accountId, cause };
}

/** Returns the device's own name in printable form: it comes from outside and is shown to people. */
function printable(userAgent: string): string {
  const text = userAgent.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
  return text.trim().slice(0, USER_AGENT_CHARS).toWellFormed();
}

function clientDisabled(): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'CLIENT_DISABLED', 'This app is disabled.');
}

/** Returns the same error for unknown, expired and used codes and grants. */
export function grantNotFound(): StatusError {
  return new StatusError(
    'NOT_FOUND',
    'GRANT_NOT_FOUND',
    'No device is waiting with this code. It may be mistyped, used or expired. Codes are valid for ten minutes.',
  );
}
