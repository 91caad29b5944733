/**
 * The right to be the one control process of an installation. A process that has lost it cannot do harm:
 *
 * - The database: every commit first checks that the lease is still held (`Store.fence`), so a late write of an earlier
 *   process is refused.
 * - Everything else (games, servers' files, backups, messages to proxies, e-mail): on PostgreSQL, which other machines
 *   can reach, a thread (`lease-deadline.ts`) kills the whole process a second before another one may take the lease,
 *   unless it was renewed. The thread notices first when a paused process continues, and needs no turn of the event
 *   loop. Only an operation that the kernel has already begun (one write of a chunk, one rename) can still complete.
 *   Within a container, the event loop of the first process has to end it.
 * - Games and their consoles get no requests unless the lease is certainly held (`Lease.require`). If the time of the
 *   last renewal does not prove that, the database is queried. So a process that wakes up just before that thread acts
 *   cannot start or stop a game, or send a console command.
 * - Proxies that know several services leave a silent one before its lease can end, and a standby accepts no links.
 *
 * Not covered: a machine paused as a whole by its hypervisor does not notice that time has passed. There the database's
 * refusal protects everything that is stored before it is done, which includes every start and stop of a game.
 */
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { type ProcessIdentity, isAlive, thisProcess } from '../kernel/process-identity.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import { monotonicClock } from '../kernel/system-clock.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { unavailable } from './errors.ts';
import { type Deadline, sinceBootMs, startDeadline } from './lease-deadline.ts';
import { type LeaseRow, getLease, holdsLease, releaseLease, renewLease, takeLease } from './lease-rows.ts';
import type { Store } from './store.ts';

/** The right to be the one control process of an installation. */
export interface Lease {
  /** Extends the lease; called by a timer. */
  renew(): Promise<void>;
  /**
   * Await this before any action that the database does not guard. Rejects with UNAVAILABLE LEASE_LOST if another
   * process has taken over. If a process on another machine could have, it also rejects while the database is
   * unreachable.
   */
  require(): Promise<void>;
  /** Whether the lease is certainly held, judged by the time of the last renewal. */
  isSure(): boolean;
  /** Releases the lease. Later writes to this store fail. */
  release(): Promise<void>;
}

/** Options of waiting for another process's lease instead of being refused. */
export interface Waiting {
  /** Called at each check with the holder; undefined if the database cannot be reached. Throwing ends the wait. */
  onHeld: (holder: ProcessIdentity | undefined) => void;
  /** Ends the wait, which rejects with its reason. */
  signal: AbortSignal;
}

export interface LeaseOptions {
  clock: Clock;
  log: Log;
  /** Another process has taken over: end now. Writes fail already. */
  onLost: () => void;
  /**
   * Called before the lease is taken. Rejects if this process could not do its work: then the holder keeps it. Default:
   * no check.
   */
  beforeTaking?: () => Promise<void>;
  /** Waits for another process's lease. Default: rejects if the lease is held. */
  waiting?: Waiting | undefined;
  /** Default: this process. */
  self?: ProcessIdentity;
  /** Times checks and renewals. Default: real time, because other processes measure the lease in real time. */
  realTime?: Clock;
  /** Ends this process when a renewal is late. Default: the deadline thread. */
  deadlineOf?: typeof startDeadline;
}

/** How long an unrenewed lease is respected, and how often it is renewed. */
interface Span {
  heldMs: number;
  renewMs: number;
}

const NAME = 'control';
const LONG: Span = { heldMs: 30_000, renewMs: 10_000 };
/** For installations with a standby that takes over within 10 s, its start included. */
const SHORT: Span = { heldMs: 8_000, renewMs: 1_000 };
/** Delay after a failed renewal. */
const RETRY_MS = 1_000;
/** The holder ends itself this long before others may take the lease. */
const MARGIN_MS = 1_000;
const LOOK_MS = 500;
/** Time limit of a check. A connection that does not answer may be dead while a new one works. */
const PATIENCE_MS = 3_000;

/**
 * Makes this process the only writer of the database. Refuses its later writes once another process has taken over. A
 * process on the same machine keeps the lease as long as it lives, even if it is stopped, and loses it at once when it
 * is dead. A process that is not visible from here (another machine, another container) loses the lease if it does not
 * renew it while this process watches for the lease's duration: 30 s, or 8 s if its token contains that. Clocks of two
 * processes are never compared, and time in which this process was stopped counts as one check. Rejects with
 * FAILED_PRECONDITION LEASE_HELD if the holder lives, unless this process is `waiting`.
 */
export async function acquireLease(store: Store, options: LeaseOptions): Promise<Lease> {
  const { waiting, realTime = monotonicClock } = options;
  const self = options.self ?? (await thisProcess());
  const check = createCheck(store, self, options);
  for (;;) {
    waiting?.signal.throwIfAborted();
    const at = realTime.now();
    const seen = await check().catch((error: unknown) => {
      if (!waiting || !isAway(error)) throw error;
      waiting.onHeld(undefined);
      return 'changed' as const;
    });
    if (typeof seen === 'object') return seen;
    // After a change, wait the full interval: the change may have happened as late as the end of the check.
    await sleep(realTime, seen === 'changed' ? LOOK_MS : Math.max(0, LOOK_MS - (realTime.now() - at)));
  }
}

/** Returns the process that holds the lease, alive or dead; undefined if the lease was released. */
export function leaseHolder(store: Store): Promise<ProcessIdentity | undefined> {
  return getLease(store, NAME);
}

/**
 * Checks the lease once and takes it if that is allowed. Otherwise reports whether it was renewed since the last check.
 */
function createCheck(store: Store, self: ProcessIdentity, options: LeaseOptions) {
  const { clock, log, waiting, beforeTaking = async () => {}, realTime = monotonicClock } = options;
  const span = waiting && store.dialect === 'postgres' ? SHORT : LONG;
  const token = span === SHORT ? `${randomBase62(16)}.${span.heldMs}` : randomBase62(16);
  let seen: LeaseRow | undefined;
  let unchanged = 0;
  return async function look(): Promise<Lease | 'changed' | 'unchanged'> {
    const held = await withTimeout(getLease(store, NAME), PATIENCE_MS, { clock: realTime, late: silent });
    // The last check may have taken the lease although the database did not confirm it.
    const isOwn = held?.token === token;
    const alive = held && !isOwn && (await isAlive(held, self));
    const isRenewed = seen !== undefined && held !== undefined && !sameBeat(seen, held);
    const isFirst = seen === undefined;
    unchanged = isFirst || isRenewed ? 0 : unchanged + 1;
    seen = held;
    // Only a system that reports start times of processes can prove that this is the same one.
    const isHere = alive === true && self.startedAt !== '';
    if (held && alive !== false && (isHere || unchanged * LOOK_MS < heldMsOf(held))) {
      if (waiting) waiting.onHeld(held);
      else if (isHere || isRenewed) throw refusal(held);
      else if (isFirst)
        log.info(
          { holder: held.hostname, pid: held.pid },
          'waiting for the lease of a process that cannot be checked from here',
        );
      return unchanged === 0 ? 'changed' : 'unchanged';
    }
    await beforeTaking();
    const at = sinceBootMs();
    const mine: LeaseRow = { ...self, name: NAME, token, expiresAt: clock.now() + span.heldMs };
    const isTaken = await store.write((tx) => takeLease(tx, mine, held));
    return isTaken ? keep(store, { token, at, span }, options) : 'changed';
  };
}

/**
 * Returns the duration of a lease, which its holder appends to the token. Tokens of releases without standbys contain
 * none and mean 30 s.
 */
function heldMsOf({ token }: LeaseRow): number {
  return Number(token.split('.')[1] ?? LONG.heldMs);
}

/** Reports whether the lease was not renewed in between. Each renewal stores another instant. */
function sameBeat(a: LeaseRow, b: LeaseRow): boolean {
  return a.token === b.token && a.expiresAt === b.expiresAt;
}

interface Taken {
  token: string;
  /** The time just before the lease was taken, by `sinceBootMs`. */
  at: number;
  span: Span;
}

function keep(store: Store, { token, at, span }: Taken, options: LeaseOptions): Lease {
  const { clock, log, onLost, realTime = monotonicClock, deadlineOf = startDeadline } = options;
  const sureMs = span.heldMs - MARGIN_MS;
  // Only processes of this machine use a file, and they can check that this one is alive.
  const isShared = store.dialect === 'postgres';
  const deadline: Deadline | undefined = isShared ? deadlineOf({ at, limitMs: sureMs, onLate: onLost }) : undefined;
  let renewedAt = at;
  let lost = false;
  const lose = () => {
    if (lost) return;
    lost = true;
    cancel();
    log.error({}, 'another process has taken over this installation');
    onLost();
  };
  store.fence(async (tx) => {
    if (await holdsLease(tx, store.dialect, NAME, token)) return;
    lose();
    throw leaseLost();
  });
  const renew = async () => {
    const asked = sinceBootMs();
    await store.write((tx) => renewLease(tx, NAME, token, clock.now() + span.heldMs));
    renewedAt = Math.max(renewedAt, asked);
    deadline?.extend(renewedAt);
  };
  const isSure = () => !lost && sinceBootMs() - renewedAt < sureMs;
  const beat = async () => {
    const isRenewed = await renew().then(
      () => true,
      (error: unknown) => {
        log.warn({ err: error }, 'could not renew the lease; trying again');
        return false;
      },
    );
    if (!lost) cancel = realTime.at(realTime.now() + (isRenewed ? span.renewMs : RETRY_MS), () => void beat());
  };
  let cancel = realTime.at(realTime.now() + span.renewMs, () => void beat());
  return {
    renew,
    isSure,
    async require() {
      if (lost) throw leaseLost();
      if (isSure()) return;
      await renew().catch((error: unknown) => {
        if (lost || isShared || !isAway(error)) throw error;
      });
    },
    async release() {
      cancel();
      if (lost) return;
      lost = true;
      await store.write((tx) => releaseLease(tx, NAME, token));
      await deadline?.stop();
    },
  };
}

function isAway(error: unknown): boolean {
  return error instanceof StatusError && error.code === 'UNAVAILABLE';
}

function silent(): never {
  throw unavailable(new Error(`The database has not answered for ${PATIENCE_MS} ms.`));
}

function leaseLost(): StatusError {
  return new StatusError('UNAVAILABLE', 'LEASE_LOST', 'Another process has taken over this installation.');
}

function refusal({ pid, hostname }: LeaseRow): StatusError {
  const message = `Another Dormouse (process ${pid} on ${hostname}) runs this installation. Stop it first.`;
  return new StatusError('FAILED_PRECONDITION', 'LEASE_HELD', message, { metadata: { pid: String(pid), hostname } });
}
