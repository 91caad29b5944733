import type { Cause } from '../../../machines/server-types.ts';

/** One stored change of a grant's state. */
export interface Change {
  at: number;
  event: string;
  from: string;
  to: string;
  cause: Cause;
}

/**
 * Most changes stored per grant. A grant lives for ten minutes; an impatient device may cause many changes in that
 * time.
 */
const KEPT = 20;

/** The cause of automatic steps by the command line, an app or its device. */
export const DEVICE: Cause = { kind: 'system', id: 'device', note: 'the device asked' };

/** Returns the history with one more change, without the oldest beyond the limit. */
export function withChange(history: string, { at, event, from, to, cause }: Change): string {
  return JSON.stringify([...changesIn(history), { at, event, from, to, cause }].slice(-KEPT));
}

/** Returns the changes, oldest first. */
export function changesIn(history: string): Change[] {
  return JSON.parse(history) as Change[];
}
