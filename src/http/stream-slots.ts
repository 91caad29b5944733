import { createPlaces } from '../kernel/limits/places.ts';
import { StatusError } from '../kernel/status.ts';
import { type Principal, credentialId } from './principal.ts';

/** How many streams of one kind may be open at once. */
export interface StreamLimits {
  perKey: number;
  perAccount: number;
}

const STREAM_LIMITS: StreamLimits = { perKey: 3, perAccount: 10 };
/** File managers move several files at once. */
export const TRANSFER_LIMITS: StreamLimits = { perKey: 8, perAccount: 16 };

/** By this time a stream whose client has gone has usually been detected. */
const RETRY_AFTER_SECONDS = 15;

/** Counts open streams, each kind for itself. */
export interface StreamSlots {
  /**
   * Takes a slot of the caller's key and one of its account, at once, and gives what frees both (a second time does
   * nothing). RESOURCE_EXHAUSTED TOO_MANY_STREAMS.
   */
  take(principal: Principal, kind: string): () => void;
  /** Slots taken now, of keys and accounts together. */
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
    `At most ${most} such streams may be open at once here. Close one first.`,
    { metadata: { subject, limit: String(most) }, retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
