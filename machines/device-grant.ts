/**
 * One device authorization grant (RFC 8628 §3.5): pending → approved | denied | expired → redeemed. The state's tag is
 * the answer to the poll that led to it. Time is data: every event carries `at`, which is compared with `expiresAt`.
 * The operator's admission of the client is data too: a grant whose client is not `admitted` cannot be approved, and is
 * denied when polled.
 */
import { type SnapshotFrom, and, assign, setup } from 'xstate';
import { tagsByState } from './tags.ts';

/** RFC 8628 §3.5's error strings; `approved` and `redeemed` mean that a token can be, or has just been, issued. */
export const GRANT_ANSWERS = [
  'authorization_pending',
  'slow_down',
  'approved',
  'redeemed',
  'access_denied',
  'expired_token',
] as const;
export type GrantAnswer = (typeof GRANT_ANSWERS)[number];

/** The states of a grant as operators see them, by the answer to its poll. */
const STATES: Readonly<Record<GrantAnswer, string>> = {
  authorization_pending: 'pending',
  slow_down: 'pending',
  approved: 'approved',
  redeemed: 'redeemed',
  access_denied: 'denied',
  expired_token: 'expired',
};

/** Returns the state of a grant with this answer: `pending`, `approved`, `denied`, `expired` or `redeemed`. */
export function grantState(answer: string): string {
  return STATES[answer as GrantAnswer] ?? answer;
}

export interface GrantInput {
  id: string;
  /** The registered app; null for the command-line client, whose grant yields an API key. */
  clientId: string | null;
  scope: string;
  /** Epoch ms. */
  at: number;
}

export interface GrantContext {
  id: string;
  clientId: string | null;
  scope: string;
  expiresAt: number;
  /** Minimum interval between two polls; each `slow_down` increases it permanently. */
  intervalMs: number;
  polledAt: number | null;
  /** The user who approved the grant; null until then. */
  userId: string | null;
  /** When the token was created; null before. */
  redeemedAt: number | null;
}

export type GrantEvent =
  /** `lost`: the token was created, but the device has not received it. */
  | { type: 'POLL'; at: number; admitted: boolean; lost?: boolean }
  | { type: 'APPROVE'; at: number; admitted: boolean; userId: string }
  | { type: 'DENY'; at: number }
  /** Sent when clients can no longer poll. The grant ends if it has expired. */
  | { type: 'EXPIRE'; at: number };

/** RFC 8628 §3.2: `expires_in` and `interval`, and what §3.5 adds on `slow_down`. */
export const EXPIRES_IN_MS = 600_000;
export const INTERVAL_MS = 5_000;
export const SLOW_DOWN_MS = 5_000;
/** How long after its creation a token can be requested again if its response was lost. */
export const ASK_AGAIN_MS = 60_000;
/** Polls up to this much early are accepted, because clocks and networks are not exact. */
const TOLERANCE_MS = 500;

export const deviceGrantMachine = setup({
  types: {
    context: {} as GrantContext,
    events: {} as GrantEvent,
    input: {} as GrantInput,
    tags: {} as GrantAnswer | 'waiting',
  },
  guards: {
    over: ({ context, event }) => event.at >= context.expiresAt,
    alive: ({ context, event }) => event.at < context.expiresAt,
    admitted: ({ event }) => event.type === 'APPROVE' && event.admitted,
    shutOut: ({ event }) => event.type === 'POLL' && !event.admitted,
    tooSoon: ({ context, event }) =>
      context.polledAt !== null && event.at - context.polledAt < context.intervalMs - TOLERANCE_MS,
  },
  actions: {
    noteRedeemed: assign(({ event }) => ({ redeemedAt: event.at })),
    stay: () => {},
    notePoll: assign(({ event }) => ({ polledAt: event.at })),
    slowDown: assign(({ context, event }) => ({ polledAt: event.at, intervalMs: context.intervalMs + SLOW_DOWN_MS })),
    approveBy: assign((_, params: { userId: string }) => ({ userId: params.userId })),
  },
}).createMachine({
  id: 'deviceGrant',
  context: ({ input: { id, clientId, scope, at } }) => ({
    id,
    clientId,
    scope,
    expiresAt: at + EXPIRES_IN_MS,
    intervalMs: INTERVAL_MS,
    polledAt: null,
    userId: null,
    redeemedAt: null,
  }),
  initial: 'pending',
  states: {
    pending: {
      initial: 'waiting',
      states: {
        waiting: { tags: ['authorization_pending', 'waiting'] },
        hurried: { tags: ['slow_down', 'waiting'] },
      },
      on: {
        POLL: [
          { guard: 'over', target: 'expired' },
          { guard: 'shutOut', target: 'denied' },
          { guard: 'tooSoon', target: '.hurried', actions: 'slowDown' },
          { target: '.waiting', actions: 'notePoll' },
        ],
        APPROVE: {
          guard: and(['alive', 'admitted']),
          target: 'approved',
          actions: { type: 'approveBy', params: ({ event }) => event },
        },
        DENY: { guard: 'alive', target: 'denied' },
        EXPIRE: { guard: 'over', target: 'expired' },
      },
    },
    approved: {
      tags: 'approved',
      on: {
        POLL: [
          { guard: 'over', target: 'expired' },
          { guard: 'shutOut', target: 'denied' },
          { target: 'redeemed', actions: 'noteRedeemed' },
        ],
        EXPIRE: { guard: 'over', target: 'expired' },
      },
    },
    denied: {
      tags: 'access_denied',
      on: { POLL: [{ guard: 'over', target: 'expired' }, { actions: 'stay' }] },
    },
    /**
     * The token is issued once, or again if it was never received (`mayAskAgain`). Any other poll gets `expired_token`.
     */
    redeemed: { tags: 'redeemed', on: { POLL: { actions: 'stay' } } },
    expired: { tags: 'expired_token', on: { POLL: { actions: 'stay' } } },
  },
});

/**
 * Whether a poll of a redeemed grant gets the token again because it was never received. A poll no later than the
 * redeeming one was concurrent with it and does not qualify.
 */
export function mayAskAgain(
  { redeemedAt }: GrantContext,
  { at, admitted, lost }: Pick<Extract<GrantEvent, { type: 'POLL' }>, 'at' | 'admitted' | 'lost'>,
): boolean {
  const sinceMs = redeemedAt === null ? 0 : at - redeemedAt;
  return admitted && lost === true && sinceMs > 0 && sinceMs < ASK_AGAIN_MS;
}

export type GrantSnapshot = SnapshotFrom<typeof deviceGrantMachine>;

/** Returns the answer to a poll of a grant in this state. */
export function grantAnswer(snapshot: GrantSnapshot): GrantAnswer {
  for (const answer of GRANT_ANSWERS) if (snapshot.hasTag(answer)) return answer;
  throw new Error(`state without a tag: ${JSON.stringify(snapshot.value)}`);
}

const tagsOf = tagsByState(deviceGrantMachine, GRANT_ANSWERS);

/** Whether a grant with this answer waits for a decision, unless it has expired. */
export function isWaiting(answer: string): boolean {
  return tagsOf.get(answer)?.has('waiting') ?? false;
}
