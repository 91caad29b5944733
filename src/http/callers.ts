import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { createPlaces } from '../kernel/limits/places.ts';
import { StatusError } from '../kernel/status.ts';
import type { Authorize } from './auth.ts';
import { goneSignal, onceEnded } from './ended.ts';
import type { Admit } from './mount.ts';
import type { OpenOperation } from './operation.ts';
import { credentialId } from './principal.ts';
import type { KeyCaller, OpenCaller } from './serve.ts';

/** Most unanswered calls of one account, over all its keys. */
const MOST_IN_FLIGHT = 600;
const inFlight = createPlaces();

/** Admits callers of operations for API keys. */
export function keyCallers(authorize: Authorize): Admit {
  return async function admitKey(ctx, operation): Promise<KeyCaller> {
    if (operation.auth !== 'key') throw new Error(`${operation.id} is not an operation for API keys`);
    const principal = await authorize(ctx.headers, operation);
    const leave = inFlight.take({ [principal.accountId]: MOST_IN_FLIGHT });
    if (!leave) throw tooManyInFlight(principal.accountId);
    onceEnded(ctx.res, leave);
    ctx.state.credential = credentialId(principal);
    ctx.state.accountId = principal.accountId;
    return { principal, lastEventId: ctx.get('last-event-id'), signal: goneSignal(ctx.res) };
  };
}

function tooManyInFlight(accountId: string): StatusError {
  const sentence = `An account can have at most ${MOST_IN_FLIGHT} calls in progress. Wait until one has ended.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_CALLS', sentence, {
    retryAfterSeconds: 1,
    metadata: { subject: `account:${accountId}`, limit: String(MOST_IN_FLIGHT) },
  });
}

/** Admits all callers. */
export function openCallers(clientAddress: (request: IncomingMessage) => string): Admit {
  return async function admitAnyone(ctx, operation): Promise<OpenCaller> {
    ctx.set((operation as OpenOperation).answerHeaders ?? {});
    return {
      caller: { address: clientAddress(ctx.req), userAgent: ctx.get('user-agent') },
      headers: ctx.headers,
      response: ctx.response,
      received: () => received(ctx),
    };
  };
}

function received({ res }: Context): Promise<boolean> {
  return new Promise((resolve) => onceEnded(res, () => resolve(res.writableFinished)));
}
