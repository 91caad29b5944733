import type { Cause } from '../../../machines/server-types.ts';

/** One change of a grant's state, as its row keeps it. */
export interface Change {
  at: number;
  event: string;
  from: string;
  to: string;
  cause: Cause;
}

/** A grant lives for ten minutes, during which an impatient device may cause many transitions. */
const KEPT = 20;

/** The cause of automatic steps by the command line, an app or its device. */
export const DEVICE: Cause = { kind: 'system', id: 'device', note: 'the device asked' };

/** The history with one more change; the oldest ones go. */
export function withChange(history: string, { at, event, from, to, cause }: Change): string {
  return JSON.stringify([...changesIn(history), { at, event, from, to, cause }].slice(-KEPT));
}

/** Oldest first. */
export function changesIn(history: string): Change[] {
  return JSON.parse(history) as Change[];
}
