import type { ServerState } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerRow } from './rows.ts';
import type { ServerNow } from './server-now.ts';

/**
 * Checks whether a server may wake or install something. The check first reads the data it needs. The function it
 * returns is called synchronously with the command, so that the state cannot change in between, and throws the
 * StatusError that refuses it. With `batchRead` no command follows, and the check answers from known data without
 * waiting.
 */
export type WakeCheck = (row: ServerRow, batchRead?: BatchRead) => Promise<(now: ServerNow) => void>;

/** One read-only evaluation of the rules for several servers, for display. */
export class BatchRead {
  readonly #seen = new Map<unknown, Map<string, Promise<unknown>>>();

  /** Returns the result of `read`. For all calls with the same subject and key, only the first calls it. */
  once<Found>(about: unknown, key: string, read: () => Promise<Found>): Promise<Found> {
    const found = this.#seen.get(about) ?? new Map<string, Promise<unknown>>();
    this.#seen.set(about, found);
    const known = (found.get(key) as Promise<Found> | undefined) ?? read();
    found.set(key, known);
    return known;
  }
}

/** Creates a check that finishes with its reads. With `batchRead`, servers with the same key share one check. */
export function readFirst(require: (row: ServerRow) => Promise<void>, keyOf = ({ id }: ServerRow) => id): WakeCheck {
  return async (row, batchRead) => {
    await (batchRead === undefined ? require(row) : batchRead.once(require, keyOf(row), () => require(row)));
    return () => {};
  };
}

/** The key of a decision that depends on a server's software and its account. */
export const SOFTWARE_OF = ({ accountId, type }: ServerRow): string => `${accountId} ${type}`;

/** Commands that checks can be registered for. */
export type CheckedCommand = 'CREATE' | 'START' | 'JOIN' | 'RESTART' | 'REINSTALL' | 'RETRY_INSTALL';

/** Commands that begin a start, or queue one. */
const WAKES: readonly CheckedCommand[] = ['START', 'JOIN', 'RESTART'];
/** Commands that install something, including creation with a mod pack. */
const INSTALLS: readonly CheckedCommand[] = ['CREATE', 'REINSTALL', 'RETRY_INSTALL'];

/** Commands that begin a start, queue one, or install something. */
export const WAKES_AND_INSTALLS: readonly CheckedCommand[] = [...WAKES, ...INSTALLS];

/** A check and its commands; by default those that wake a server. */
export interface WakeRule {
  check: WakeCheck;
  commands?: readonly CheckedCommand[];
}

/** The checks before a server wakes or installs something. */
export class WakeChecks {
  readonly #checks = new Map<WakeCheck, readonly CheckedCommand[]>();

  /** Runs `check` before these commands from now on. Returns a function that removes it. */
  add(check: WakeCheck, commands: readonly CheckedCommand[] = WAKES): () => void {
    this.#checks.set(check, commands);
    return () => this.#checks.delete(check);
  }

  /**
   * Returns the checks for a command to a server in this state. A join or start of a server that is already awake needs
   * none; a restart always does.
   */
  before(type: string, state: ServerState): WakeCheck[] {
    if ((type === 'START' || type === 'JOIN') && isTagged(state, 'awake')) return [];
    return [...this.#checks].flatMap(([check, commands]) => (commands.some((each) => each === type) ? [check] : []));
  }

  /** Returns the first refusal of a command; undefined if none refuses. */
  async refusal(now: ServerNow, command: CheckedCommand, batchRead?: BatchRead): Promise<StatusError | undefined> {
    try {
      for (const check of this.before(command, now.state)) (await check(now.row, batchRead))(now);
    } catch (error) {
      if (error instanceof StatusError) return error;
      throw error;
    }
    return undefined;
  }
}

/**
 * Refuses a start over the API with UNAVAILABLE NODE_UNREACHABLE while this node's engine does not answer. A joining
 * player is held until it is back. Read-only checks skip this rule, because they would wait for an engine that hangs.
 */
export function requireEngine(nodeLabel: string, engine: { reachable(): Promise<boolean> }): WakeRule {
  const check: WakeRule['check'] = async (_, batchRead) => {
    if (batchRead !== undefined || (await engine.reachable())) return () => {};
    const message = `${nodeLabel} is unreachable, so starts are paused. Try again in a moment.`;
    throw new StatusError('UNAVAILABLE', 'NODE_UNREACHABLE', message, {
      metadata: { node: nodeLabel },
      retryAfterSeconds: 2,
    });
  };
  return { check, commands: ['START', 'RESTART'] };
}
