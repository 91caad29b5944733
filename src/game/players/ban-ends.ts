/**
 * The ends of bans. A list's file has them as `expires`, but a running game's `ban` command does not accept one. For a
 * running game, the end is therefore appended to the reason in the game's date format: the game stores it, the player
 * sees it, and readers of the list find it.
 */
const IN_REASON = /(?:^| )\(until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000)\)$/;

/** The game's `expires` of permanent bans in `banned-players.json`. */
export const FOREVER = 'forever';
/** The game's default reason. */
export const NO_REASON = 'Banned by an operator.';

/** The terms of a ban in a list's entry. */
export interface BanTerms {
  /** A date in the game's format, or `forever`. */
  expires: string;
  reason: string;
}

/** Returns a date in the game's format: `2026-01-31 18:05:09 +0000`. */
export function gameDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} +0000`;
}

/** Returns the epoch ms of a date in the game's format; null for `forever` and invalid dates. */
export function instantOf(date: string): number | null {
  const [, day = '', time = '', hours = '', minutes = ''] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d):?(\d\d)$/.exec(date) ?? [];
  const at = Date.parse(`${day}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : at;
}

/** Whether a ban is still in force. */
export function isInForce({ expires }: { expires: string }, at: number): boolean {
  return lasts(instantOf(expires), at);
}

/** Whether the end of a ban is in the future; null: permanent. */
export function lasts(until: number | null, at: number): boolean {
  return until === null || until > at;
}

/** Returns the reason for a running game's ban until `until` (epoch ms; null: permanent); '' is the game's default. */
export function reasonOf({ reason, until }: { reason: string; until: number | null }): string {
  return until === null ? reason : `${reason === '' ? NO_REASON : reason} (until ${gameDate(until)})`;
}

/** Whether only the reason has the ban's end, so that the game treats it as permanent. */
export function endsByReason({ expires, reason }: BanTerms): boolean {
  return instantOf(expires) === null && IN_REASON.test(reason);
}

/** Returns a ban's terms, with the end taken from the reason if only the reason has it. */
export function termsOf<Terms extends BanTerms>(terms: Terms): Terms {
  const [end = '', expires = ''] = IN_REASON.exec(terms.reason) ?? [];
  return endsByReason(terms) ? { ...terms, expires, reason: terms.reason.slice(0, -end.length) } : terms;
}
