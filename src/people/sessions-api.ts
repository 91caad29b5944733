import { z } from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { sessionOperation } from '../http/session-operation.ts';
import { StatusError } from '../kernel/status.ts';
import type { SessionRow } from './session-rows.ts';
import { endOtherSessions, endSession, sessionsOf } from './sessions.ts';

const Session = z
  .object({
    sessionId: reply.text,
    createdAt: reply.timestamp,
    seenAt: reply.timestamp.describe('To the minute.'),
    expiresAt: reply.timestamp.describe('If it is not used before.'),
    address: reply.text.describe('From where it was opened.'),
    userAgent: reply.text.describe('What its browser says it is.'),
    current: reply.flag.describe('The session of this call.'),
  })
  .meta({ id: 'Session' });

export const listSessions = sessionOperation({
  id: 'ListSessions',
  method: 'get',
  path: '/v1/session/sessions',
  summary: 'List sessions',
  description: 'Where you are signed in, the session used last first.',
  reply: z.object({ sessions: z.array(Session).default([]) }).meta({ id: 'ListSessionsResponse' }),
}).handle(async ({ principal }, { store, clock }) => {
  const sessions = await sessionsOf(store, clock, principal);
  return { sessions: sessions.map((row) => sessionView(row, principal.sessionId)) };
});

export const endSessionOperation = sessionOperation({
  id: 'EndSession',
  method: 'post',
  path: '/v1/session/sessions:end',
  summary: 'End a session',
  description: 'Its browser is signed out at its next call.',
  body: message({ sessionId: text(64).min(1, 'is required') }).meta({ id: 'EndSessionRequest' }),
  reply: Nothing,
}).handle(async ({ principal, body }, services) => {
  if (await endSession(services, principal, body.sessionId)) return {};
  throw new StatusError('NOT_FOUND', 'SESSION_NOT_FOUND', 'There is no such session.');
});

export const endOtherSessionsOperation = sessionOperation({
  id: 'EndOtherSessions',
  method: 'post',
  path: '/v1/session/sessions:endOthers',
  summary: 'End all other sessions',
  description: 'Leaves only the session of this call.',
  reply: z.object({ ended: reply.int32 }).meta({ id: 'EndOtherSessionsResponse' }),
}).handle(async ({ principal }, services) => ({ ended: await endOtherSessions(services, principal) }));

function sessionView({ id, ip, ...times }: SessionRow, currentId: string): z.input<typeof Session> {
  return { ...times, sessionId: id, address: ip, current: id === currentId };
}
