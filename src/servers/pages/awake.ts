import type { ReplyOf } from '../../http/calls.ts';

/** One awake session, from the usage operation. */
export type AwakeSession = ReplyOf<'GetServerUsage'>['sessions'][number];

/** When a session that lasts ends for now (epoch ms). */
export function endOf({ endedAt }: Pick<AwakeSession, 'endedAt'>, now: number): number {
  return endedAt === null ? now : Date.parse(endedAt);
}

/** How much of a span of time (epoch ms) a server was awake. */
export function awakeMsIn(
  sessions: readonly AwakeSession[],
  { from, to }: { from: number; to: number },
  now: number,
): number {
  return sessions.reduce((sum, session) => {
    const begin = Math.max(Date.parse(session.startedAt ?? ''), from);
    return sum + Math.max(0, Math.min(endOf(session, now), to) - begin);
  }, 0);
}
