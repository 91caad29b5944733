import * as z from 'zod';
import type { AccessChanges } from '../http/access-changes.ts';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import type { BrowserSessionRow } from './browser-session-rows.ts';
import { endOtherBrowserSessions, endBrowserSession, browserSessionsOf } from './browser-sessions.ts';

/** Dependencies of these operations. */
interface Needs {
  accessChanges: AccessChanges;
  clock: Clock;
  store: Store;
}

const Session = z
  .object({
    sessionId: reply.text,
    createdAt: reply.timestamp,
    seenAt: reply.timestamp.describe('Accurate to the minute.'),
    expiresAt: reply.timestamp.describe('Extended by each use.'),
    address: reply.text.describe('The IP address it was opened from.'),
    userAgent: reply.text.describe('The `User-Agent` of the browser.'),
    current: reply.flag.describe('Whether it is the session of this call.'),
  })
  .meta({ id: 'Session' });

export const ListSessions = operation({
  id: 'ListSessions',
  method: 'get',
  path: '/v1/session/sessions',
  auth: 'session',
  summary: 'List sessions',
  description: 'Returns your sessions, last used first.',
  reply: z.object({ sessions: z.array(Session).default([]) }).meta({ id: 'ListSessionsResponse' }),
});

export const EndSession = operation({
  id: 'EndSession',
  method: 'post',
  path: '/v1/session/sessions:end',
  auth: 'session',
  summary: 'End a session',
  description: 'Signs its browser out at the next call.',
  body: message({ sessionId: text(64).min(1, 'is required') }).meta({ id: 'EndSessionRequest' }),
  reply: Nothing,
});

export const EndOtherSessions = operation({
  id: 'EndOtherSessions',
  method: 'post',
  path: '/v1/session/sessions:endOthers',
  auth: 'session',
  summary: 'End all other sessions',
  description: 'Ends all sessions except that of this call.',
  reply: z.object({ ended: reply.int32 }).meta({ id: 'EndOtherSessionsResponse' }),
});

function sessionView({ id, ip, ...times }: BrowserSessionRow, currentId: string): z.input<typeof Session> {
  return { ...times, sessionId: id, address: ip, current: id === currentId };
}

export const sessionListOperations = (needs: Needs): readonly Served[] => [
  serve(ListSessions, async ({ principal }) => {
    const sessions = await browserSessionsOf(needs.store, needs.clock, principal);
    return { sessions: sessions.map((row) => sessionView(row, principal.sessionId)) };
  }),
  serve(EndSession, async ({ principal, body }) => {
    if (await endBrowserSession(needs, principal, body.sessionId)) return {};
    throw new StatusError('NOT_FOUND', 'SESSION_NOT_FOUND', 'There is no such session.');
  }),
  serve(EndOtherSessions, async ({ principal }) => ({ ended: await endOtherBrowserSessions(needs, principal) })),
];
