import { createPlaces } from '../kernel/limits/places.ts';
import { StatusError } from '../kernel/status.ts';
import { type Principal, credentialId } from './principal.ts';

/** Most concurrent streams of one kind. */
export interface StreamLimits {
  perKey: number;
  perAccount: number;
}

const STREAM_LIMITS: StreamLimits = { perKey: 3, perAccount: 10 };
/** File managers transfer several files at once. */
export const TRANSFER_LIMITS: StreamLimits = { perKey: 8, perAccount: 16 };

/** By then, a stream whose client has gone has usually been detected. */
const RETRY_AFTER_SECONDS = 15;

/** Counts open streams by kind. */
export interface StreamSlots {
  /**
   * Acquires a slot of the caller's key and one of its account. Returns a function that releases both; further calls do
   * nothing. Throws RESOURCE_EXHAUSTED TOO_MANY_STREAMS.
   */
  take(principal: Principal, kind: string): () => void;
  /** Number of slots in use, of keys and accounts together. */
  taken(): number;
}

export function createStreamSlots({ perKey, perAccount }: StreamLimits = STREAM_LIMITS): StreamSlots {
  const places = createPlaces();
  return {
    take(principal, kind) {
      const most: Record<string, number> = {};
      for (const [subject, limit] of [
        [`credential:${credentialId(principal)}`, perKey],
        [`account:${principal.accountId}`, perAccount],
      ] as const) {
        if (places.taken(`${kind} ${subject}`) >= limit) throw tooMany(subject, limit);
        most[`${kind} ${subject}`] = limit;
      }
      return places.take(most) ?? (() => {});
    },
    taken: () => places.total(),
  };
}

function tooMany(subject: string, most: number): StatusError {
  return new StatusError(
    'RESOURCE_EXHAUSTED',
    'TOO_MANY_STREAMS',
    `At most ${most} streams of this kind can be open at once. Close one first.`,
    { metadata: { subject, limit: String(most) }, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
