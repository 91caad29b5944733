import type { ReplyOf } from '../../http/calls.ts';
import { type Html, html } from '../../web/html.ts';
import { plainName } from '../../web/text.ts';

type Cause = ReplyOf<'GetServerUsage'>['sessions'][number]['cause'];

/** Most names listed. */
const MOST_NAMED = 6;

/** Counts a server's wakes by their causes: `Steve 12 times, a schedule 30 times`. */
export function wakersText(sessions: readonly { cause: Cause }[], reader: { userId: string }): Html[] {
  const counts = new Map<string, { who: Html | string; count: number }>();
  for (const { cause } of sessions) {
    const { key, who } = wakerOf(cause, reader);
    counts.set(key, { who, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  const wakers = [...counts.values()].toSorted((a, b) => b.count - a.count);
  const rest = wakers.slice(MOST_NAMED).reduce((sum, { count }) => sum + count, 0);
  const named = [...wakers.slice(0, MOST_NAMED), ...(rest > 0 ? [{ who: 'others', count: rest }] : [])];
  return named.map(({ who, count }, nth) => html`${nth > 0 && ', '}${who} ${timesText(count)}`);
}

function wakerOf({ kind, id }: Cause, { userId }: { userId: string }): { key: string; who: Html | string } {
  switch (kind) {
    case 'player':
      return { key: `player ${id}`, who: html`<bdi>${plainName(id)}</bdi>` };
    case 'user':
      return id === userId ? { key: 'you', who: 'you' } : { key: kind, who: 'others in the panel' };
    case 'key':
      return { key: kind, who: 'API keys' };
    case 'schedule':
      return { key: kind, who: 'a schedule' };
    case 'operator':
      return { key: kind, who: 'the operator' };
    default:
      return { key: 'system', who: 'by itself, after a crash or loss,' };
  }
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
