import type { LostGame } from '../engines/lost-games.ts';
import type { Job } from '../../machines/server-types.ts';

/** A wait of a machine. */
export interface Wait {
  /** The active invoke, or the awaited event. */
  name: string;
  /** A description such as `the engine to end the game`. */
  what: string;
  /** When the wait ends (epoch ms); null if unknown. */
  until: number | null;
}

/** The parts of a persisted snapshot (XState) that show current effects. */
export interface StoredSnapshot {
  context: { deadlineAt?: number | null; kill?: boolean; expiresAt?: number; job?: Job | null };
  children?: Record<string, { snapshot?: { input?: unknown } } | undefined>;
}

const INVOKES: Record<string, string> = {
  install: 'the installer to finish',
  boot: 'the game to be ready for players',
  halt: 'the engine to save and end the game',
  erase: 'everything that belongs to the server to be removed',
  pause: 'a few seconds to pass before the next attempt',
  room: 'a machine with free capacity',
  watch: 'the next reading of the running game',
};
const JOBS: Record<Job['kind'], string> = {
  'backup.restore': 'a backup to be restored',
  'world.reset': 'a world to be reset',
  'world.delete': 'a world to be removed',
};
const AT_ONCE = 'the engine to end the game at once';

/**
 * Returns what a server waits for: its active invokes. Empty at rest, when only a command changes anything. `lost` puts
 * all of them on hold, because the server's node is unresponsive and may still run its game.
 */
export function serverWaits({ context, children = {} }: StoredSnapshot, lost?: LostGame): Wait[] {
  const until = context.deadlineAt ?? null;
  const invokes = Object.entries(children).filter(([name]) => name !== 'alarm');
  if (lost) {
    const what = `${lost.node} to respond or to be marked as off. It may still run the game`;
    return invokes.map(([name]) => ({ name, what, until: null }));
  }
  return invokes.map(([name, child]) => ({
    name,
    what: name === 'halt' && isKill(child?.snapshot?.input) ? AT_ONCE : (whatIsDone(name, context.job) ?? name),
    until: name === 'watch' ? null : until,
  }));
}

/** Returns what a grant waits for: its user or its device. */
export function grantWaits(state: string, { context }: StoredSnapshot): Wait[] {
  const until = context.expiresAt ?? null;
  if (state === 'approved') return [{ name: 'POLL', what: 'the device to fetch its token', until }];
  if (state !== 'pending') return [];
  return [{ name: 'APPROVE', what: 'its user to approve or decline it', until }];
}

function whatIsDone(invoke: string, job: Job | null | undefined): string | undefined {
  return invoke === 'maintain' && job ? JOBS[job.kind] : INVOKES[invoke];
}

function isKill(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'kill' in input && input.kill === true;
}
