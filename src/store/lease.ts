import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { type ProcessIdentity, isAlive, thisProcess } from '../kernel/process-identity.ts';
import { StatusError } from '../kernel/status.ts';
import { type LeaseRow, getLease, holdsLease, releaseLease, renewLease, takeLease } from './lease-rows.ts';
import type { Store } from './store.ts';

/** The right to be the one control process of an installation. */
export interface Lease {
  /** Puts the end off; called by itself every 10 s. */
  renew(): Promise<void>;
  /** Gives the right back. Nothing can be written to this store any more. */
  release(): Promise<void>;
}

export interface LeaseOptions {
  clock: Clock;
  log: Log;
  /** Another process has taken over, as nothing was heard of this one for 30 s: end now. Writes fail already. */
  onLost: () => void;
  /**
   * Called before the lease is taken, and rejects where this process could not do its work: then whoever holds it keeps it.
   * Default: nothing is asked.
   */
  beforeTaking?: () => Promise<void>;
  /** Default: this process. */
  self?: ProcessIdentity;
  /** Waits in real time, whoever sets clocks. */
  pause?: (ms: number) => Promise<unknown>;
}

const NAME = 'control';
const HELD_MS = 30_000;
const RENEW_MS = 10_000;
const LOOK_MS = 500;

/**
 * Makes this process the only one that writes to the database, and lets no write through once another one is. A process of the
 * same machine keeps the lease as long as it lives, be it stopped, and loses it at once when it is dead. One that cannot be seen
 * from here (another machine, another container) loses it when it has not renewed it while it was looked at for 30 s. No clock of
 * one process is compared with that of another, and time in which this one was stopped counts as one look. FAILED_PRECONDITION
 * LEASE_HELD where the other one lives.
 */
export async function acquireLease(store: Store, options: LeaseOptions): Promise<Lease> {
  const { clock, log, beforeTaking = async () => {}, pause = setTimeout } = options;
  const self = options.self ?? (await thisProcess());
  const token = randomBase62(16);
  const mine = (): LeaseRow => ({ ...self, name: NAME, token, expiresAt: clock.now() + HELD_MS });
  let seen: LeaseRow | undefined;
  for (let unchanged = 0; ; unchanged++) {
    const held = await getLease(store, NAME);
    const alive = held && (await isAlive(held, self));
    if (held && alive !== false) {
      // Where the system tells when processes started, this is surely the one.
      if (alive === true && self.startedAt !== '') throw refusal(held);
      if (seen && !sameBeat(seen, held)) throw refusal(held);
    }
    if (!held || alive === false || unchanged * LOOK_MS >= HELD_MS) {
      await beforeTaking();
      if (await store.write((tx) => takeLease(tx, mine(), held))) return keep(store, token, options);
      unchanged = 0;
    } else if (!seen) {
      log.info({ holder: held.hostname, pid: held.pid }, 'waiting for the lease of a process out of sight');
    }
    await pause(LOOK_MS);
    seen = held;
  }
}

/** Whether it was not renewed in between: each renewal stores another instant. */
function sameBeat(a: LeaseRow, b: LeaseRow): boolean {
  return a.token === b.token && a.expiresAt === b.expiresAt;
}

function keep(store: Store, token: string, { clock, log, onLost }: LeaseOptions): Lease {
  let lost = false;
  const lose = () => {
    if (lost) return;
    lost = true;
    clearInterval(timer);
    log.error({}, 'another process has taken over this installation');
    onLost();
  };
  store.fence(async (tx) => {
    if (await holdsLease(tx, store.dialect, NAME, token)) return;
    lose();
    throw new StatusError('UNAVAILABLE', 'LEASE_LOST', 'Another process has taken over this installation.');
  });
  const renew = async () => {
    await store.write((tx) => renewLease(tx, NAME, token, clock.now() + HELD_MS));
  };
  // Real time, whatever the clock that is handed in: other processes' patience runs out in it.
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn({ err: error }, 'could not renew the lease'));
  }, RENEW_MS).unref();
  return {
    renew,
    async release() {
      clearInterval(timer);
      if (lost) return;
      lost = true;
      await store.write((tx) => releaseLease(tx, NAME, token));
    },
  };
}

function refusal({ pid, hostname }: LeaseRow): StatusError {
  const message = `Another Dormouse (process ${pid} on ${hostname}) runs this installation; stop that one first.`;
  return new StatusError('FAILED_PRECONDITION', 'LEASE_HELD', message, { metadata: { pid: String(pid), hostname } });
}
