/**
 * The ends of bans. A list's file holds them as `expires`, but a running game's `ban` command does not accept one.
 * There it is at the end of the reason, in the game's date format: the game keeps it, its player reads it, and readers
 * of the list find it.
 */
const IN_REASON = /(?:^| )\(until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000)\)$/;

/** As in `banned-players.json` of the game: no end. */
export const FOREVER = 'forever';
/** The game's default reason. */
export const NO_REASON = 'Banned by an operator.';

/** The terms of a ban in a list's entry. */
export interface BanTerms {
  /** A date as the game writes it, or `forever`. */
  expires: string;
  reason: string;
}

/** A date as the game writes it: `2026-01-31 18:05:09 +0000`. */
export function gameDate(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} +0000`;
}

/** Epoch ms of such a date; null for `forever` and for what is not a date. */
export function instantOf(date: string): number | null {
  const [, day = '', time = '', hours = '', minutes = ''] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d):?(\d\d)$/.exec(date) ?? [];
  const at = Date.parse(`${day}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : at;
}

/** Whether a ban has not ended yet. */
export function isInForce({ expires }: Pick<BanTerms, 'expires'>, at: number): boolean {
  return lasts(instantOf(expires), at);
}

/** The same for the instant of its end; null: never. */
export function lasts(until: number | null, at: number): boolean {
  return until === null || until > at;
}

/** The reason that a running game is given with a ban until `until` (epoch ms; null: for ever); '' is the game's own. */
export function reasonOf({ reason, until }: { reason: string; until: number | null }): string {
  return until === null ? reason : `${reason === '' ? NO_REASON : reason} (until ${gameDate(until)})`;
}

/** Whether the game itself knows no end of a ban: to it, it is one for ever. */
export function endsByReason({ expires, reason }: BanTerms): boolean {
  return instantOf(expires) === null && IN_REASON.test(reason);
}

/** Returns a ban's terms, wherever its end is stored. */
export function termsOf<Terms extends BanTerms>(terms: Terms): Terms {
  const [end = '', expires = ''] = IN_REASON.exec(terms.reason) ?? [];
  return endsByReason(terms) ? { ...terms, expires, reason: terms.reason.slice(0, -end.length) } : terms;
}
