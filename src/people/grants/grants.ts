import { createActor } from 'xstate';
import {
  EXPIRES_IN_MS,
  type GrantAnswer,
  type GrantEvent,
  deviceGrantMachine,
  grantAnswer,
  isWaiting,
} from '../../../machines/device-grant.ts';
import type { Cause } from '../../../machines/server-types.ts';
import { type StepListener, pathOf } from '../../actors/machine-step.ts';
import { FULL_SCOPES } from '../../http/scopes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { hashToken, mintToken, parseToken, randomBase62 } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { createRateLimiter } from '../../kernel/limits/rate-limiter.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import { isDuplicate } from '../../store/errors.ts';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import type { ClientRow } from '../apps/client-rows.ts';
import { findClient, isAdmitted, scopeOf } from '../apps/clients.ts';
import { type AuditActor, recordAudit } from '../audit/audit.ts';
import { requireRoomForKey } from '../keys/own-keys.ts';
import { type GrantNow, createGrantActors, grantNotFound, sendToGrant, showDormant } from './actors.ts';
import { type GrantedToken, redeem } from './grant-tokens.ts';
import { createHandouts } from './handouts.ts';
import { DEVICE, withChange } from './history.ts';
import * as rows from './rows.ts';
import { hashUserCode, mintUserCode, readUserCode } from './user-codes.ts';

/** Who asks for a grant. */
export interface GrantRequest {
  /** The `client_id`; null for the command-line client, whose grant yields an API key of full scope. */
  clientId: string | null;
  /** Scopes separated by blanks; '' for the default. */
  scope: string;
  /** Shown to whoever is to approve. */
  ip: string;
  userAgent: string;
}

/** The two codes of a new grant: nowhere else can they be read again. */
export interface StartedGrant {
  deviceCode: string;
  /** `WDJB-MJHT`. */
  userCode: string;
  expiresInMs: number;
  intervalMs: number;
}

/** RFC 6749 §5.2. */
export type StartError = 'invalid_client' | 'invalid_scope';
/** RFC 8628 §3.5; `invalid_grant` (RFC 6749 §5.2) for a code that is unknown, or another client's. */
export type PollError = Exclude<GrantAnswer, 'approved' | 'redeemed'> | 'invalid_grant';

/** What the consent page must show. The client comes from the registry; `ip` and `userAgent` are whoever's asked. */
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

/** Who approves or denies. */
export interface GrantUser {
  userId: string;
  accountId: string;
}

/** Who decides on a grant, and why. */
export interface Decision {
  actor: AuditActor;
  accountId: string;
  cause: Cause;
}

/** Every device grant of the installation (RFC 8628). */
export interface Grants {
  start(request: GrantRequest): Promise<StartedGrant | { error: StartError }>;
  /**
   * The answer to a device's poll. The token is given once, after it is stored; but within a minute the same one is given
   * again where `received` resolves with false, or this process ends before it resolves. With a `clientId` only for that
   * client's own grants. UNAVAILABLE where it could not be stored; then nothing has happened.
   */
  poll(
    deviceCode: string,
    clientId?: string,
    received?: Promise<boolean>,
  ): Promise<GrantedToken | { error: PollError }>;
  /** The grant that waits under a code, however it was typed; undefined alike for unknown, expired and used ones. */
  find(userCode: string): Promise<ConsentRequest | undefined>;
  /**
   * Lets the device have its token. NOT_FOUND GRANT_NOT_FOUND where the grant does not wait (any more); FAILED_PRECONDITION
   * CLIENT_DISABLED; RESOURCE_EXHAUSTED MAX_KEYS.
   */
  approve(id: string, user: GrantUser): Promise<void>;
  /** NOT_FOUND GRANT_NOT_FOUND where the grant does not wait (any more). */
  deny(id: string, user: GrantUser): Promise<void>;
  /** Denies it for an operator. NOT_FOUND GRANT_NOT_FOUND where the grant does not wait (any more). */
  intervene(id: string, decision: Decision): Promise<void>;
  /** Tells every change of the state of every grant once it is stored. Returns the cancellation. */
  follow(listener: StepListener): () => void;
  /** The grants in memory, for operators. */
  live(): GrantNow[];
  /** Ends those whose time is over, each minute, also where nobody polls them any more. Returns the cancellation. */
  expireByThemselves(): () => void;
  /** To be called once at the start: forgets in a minute the tokens whose answers the process before this one has lost. */
  sweepLater(): void;
}

export interface GrantsOptions {
  store: Store;
  clock: Clock;
  secret: Secret;
  log: Log;
}

type Codes = Pick<StartedGrant, 'deviceCode' | 'userCode'>;

const ATTEMPTS = 5;
/** A row is kept so long past its end: no code comes up again while somebody may still be shown the old one. */
const KEPT_MS = HOUR_MS;
const PURGED_AT_ONCE = 50;
const EXPIRED_AT_ONCE = 1_000;
const USER_AGENT_CHARS = 256;
/** Polls of one grant; a client is to poll every five seconds. */
const POLLS = { burst: 30, perSecond: 1 };
const OVER: Cause = { kind: 'system', id: 'expired', note: 'its ten minutes are over' };

/** Device grants from start to token. How each step is stored: `actors.ts`. */
export function createGrants({ store, clock, secret, log }: GrantsOptions): Grants {
  const actors = createGrantActors({ store, clock, log });
  const handouts = createHandouts({ store, clock, log });
  const polls = createRateLimiter(POLLS, clock);

  /** Stores a new grant under codes of its own. Old ones go when new ones come. */
  async function insert(row: Omit<rows.GrantRow, 'deviceHash' | 'userHmac'>): Promise<Codes> {
    for (let attempt = 1; ; attempt++) {
      const codes = { deviceCode: mintToken('device'), userCode: mintUserCode() };
      const deviceHash = hashToken(codes.deviceCode);
      const userHmac = hashUserCode(secret, codes.userCode);
      try {
        await store.write(async (tx) => {
          await rows.purgeGrants(tx, row.createdAt - KEPT_MS, PURGED_AT_ONCE);
          await rows.insertGrant(tx, { ...row, deviceHash, userHmac });
        });
        return codes;
      } catch (error) {
        // One of 25 thousand million user codes, and just that one is in use.
        if (!isDuplicate(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async function decide(
    id: string,
    { actor, accountId, cause }: Decision,
    event: (facts: { admitted: boolean }) => GrantEvent,
  ): Promise<void> {
    const decided = await sendToGrant({ store, actors }, id, {
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

  async function expireDue(): Promise<void> {
    const at = clock.now();
    try {
      for (const id of await rows.listOverdueGrants(store, at, EXPIRED_AT_ONCE)) {
        await sendToGrant({ store, actors }, id, {
          cause: OVER,
          facts: async () => ({}),
          event: () => ({ type: 'EXPIRE', at }),
          follow: async () => {},
        });
      }
    } catch (err) {
      log.warn({ err }, 'grants whose time is over could not be ended; trying again in a minute');
    }
  }

  return {
    async start({ clientId, scope: asked, ip, userAgent }) {
      const client = clientId === null ? null : await findClient(store, clientId);
      if (client === undefined) return { error: 'invalid_client' };
      const scope = client === null ? FULL_SCOPES.join(' ') : scopeOf(client, asked);
      if (scope === undefined) return { error: 'invalid_scope' };
      const createdAt = clock.now();
      const id = `grt_${randomBase62(16)}`;
      const actor = createActor(deviceGrantMachine, { input: { id, clientId, scope, at: createdAt } });
      const snapshot = actor.getSnapshot();
      const { expiresAt, intervalMs } = snapshot.context;
      const state = grantAnswer(snapshot);
      const cause = { ...DEVICE, note: `asked for by ${client?.name ?? 'the command line'}` };
      const change = { at: createdAt, event: 'CREATE', from: '', to: state, cause };
      const codes = await insert({
        id,
        clientId,
        userId: null,
        ip,
        userAgent: printable(userAgent),
        state,
        changedAt: createdAt,
        history: withChange('[]', change),
        createdAt,
        expiresAt,
        snapshot: JSON.stringify(actor.getPersistedSnapshot()),
      });
      actors.feed.tell(() => ({ ...change, id, kind: 'grant', fromPath: '', toPath: pathOf(snapshot.value) }));
      return { ...codes, expiresInMs: EXPIRES_IN_MS, intervalMs };
    },

    async poll(deviceCode, clientId, received = Promise.resolve(true)) {
      if (parseToken(deviceCode) !== 'device') return { error: 'invalid_grant' };
      const deviceHash = hashToken(deviceCode);
      const at = clock.now();
      const handout = handouts.of(deviceCode);
      const found = await rows.getGrantByDevice(store, deviceHash);
      if (!found || (clientId !== undefined && clientId !== found.clientId)) return { error: 'invalid_grant' };
      // Each poll that comes too soon is a write; of more than these nothing is stored.
      if (polls.take(found.id).waitMs > 0) return { error: 'slow_down' };
      const asked = sendToGrant({ store, actors }, found.id, {
        cause: DEVICE,
        facts: async (db, row) => ({
          admitted: await isAdmitted(db, row.clientId),
          lost: await handout.lost(db, row),
        }),
        event: ({ admitted, lost }) => ({ type: 'POLL', at, admitted, lost: lost !== undefined }),
        async follow({ tx, row: { id, userAgent }, answer, context: { clientId, scope, userId }, isChange }, { lost }) {
          if (answer !== 'redeemed') return { error: answer as PollError };
          handout.begin(id);
          // Still where it was: its token was made by an earlier poll.
          if (!isChange && lost) return lost;
          if (userId === null) throw new Error('a grant was redeemed that nobody had approved');
          const token = await redeem(tx, { clientId, scope, userId, userAgent, at });
          await handout.keep(tx, id, token, at);
          return token;
        },
      });
      // Without a write there is no token; the poll's caller hears of that.
      void asked.then(
        async () => handout.end(await received),
        () => handout.end(false),
      );
      return (await asked) ?? { error: 'invalid_grant' };
    },

    async find(typed) {
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
    },

    async approve(id, user) {
      const at = clock.now();
      await decide(id, inBrowser(user, 'approved'), ({ admitted }) => ({
        type: 'APPROVE',
        at,
        admitted,
        userId: user.userId,
      }));
    },
    async deny(id, user) {
      const at = clock.now();
      await decide(id, inBrowser(user, 'denied'), () => ({ type: 'DENY', at }));
    },
    async intervene(id, decision) {
      const at = clock.now();
      await decide(id, decision, () => ({ type: 'DENY', at }));
    },
    follow: (listener) => actors.feed.follow(listener),
    live: () => actors.live(),
    expireByThemselves: () => every(clock, MINUTE_MS, () => void expireDue()),
    sweepLater: () => handouts.sweepLater(),
  };
}

function inBrowser({ userId, accountId }: GrantUser, what: string): Decision {
  const cause: Cause = { kind: 'user', id: userId, note: `${what} in the browser` };
  return { actor: { userId, through: 'session' }, accountId, cause };
}

/** What a device calls itself comes from outside and is shown to people. */
function printable(userAgent: string): string {
  const text = userAgent.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
  return text.trim().slice(0, USER_AGENT_CHARS).toWellFormed();
}
