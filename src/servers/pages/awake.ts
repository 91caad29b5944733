import type { ReplyOf } from '../../http/operation.ts';
import type { GetServerUsage } from '../../billing/usage-api.ts';

/** One awake session, from the usage operation. */
export type AwakeSession = ReplyOf<typeof GetServerUsage>['sessions'][number];

/** Returns the end of a session (epoch ms); the present if it is still open. */
export function endOf({ endedAt }: AwakeSession, now: number): number {
  return endedAt === null ? now : Date.parse(endedAt);
}

/** Reports whether a start failed, so that the server was never up. */
export function neverUp({ readyAt, endedAt }: AwakeSession): boolean {
  return readyAt === null && endedAt !== null;
}

/** Returns how long a server was awake within a span of time (epoch ms). Failed starts do not count. */
export function awakeMsIn(
  sessions: readonly AwakeSession[],
  { from, to }: { from: number; to: number },
  now: number,
): number {
  return sessions.reduce((sum, session) => {
    if (neverUp(session)) return sum;
    const begin = Math.max(Date.parse(session.startedAt ?? ''), from);
    return sum + Math.max(0, Math.min(endOf(session, now), to) - begin);
  }, 0);
}
