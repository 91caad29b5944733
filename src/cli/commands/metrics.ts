import { call, on } from '../call.ts';
import { memory, relative } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import { aligned, listing } from '../table.ts';

const FIGURES = { cpuPercent: -1, memUsedMb: 0, memLimitMb: 0, mspt: 0, tps: 0, players: 0 } satisfies Partial<
  Messages['MetricSample']
>;
const METRICS = {
  ...FIGURES,
  live: false as boolean,
  slowSince: '',
  ticksAvailable: false as boolean,
  series: [{ ts: '', ...FIGURES }],
} satisfies Partial<Messages['ServerMetrics']>;

/** Readings are taken every minute and kept for a day. */
const MOST_LAST = 1440;

/** `dormouse metrics`. */
export const metrics = call({
  name: 'metrics',
  summary: "Show a server's CPU, memory, ticks and players: now, or by the minute.",
  args: ['id'],
  options: {
    last: {
      type: 'string',
      short: 'n',
      value: 'n',
      help: `Show the last n readings, one per minute awake (at most ${MOST_LAST}).`,
    },
  },
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/metrics', on(id)),
  shape: METRICS,
  show({ series, ...now }, { context: { terminal }, args: [id], values: { last }, now: at }) {
    const shown = wholeNumber('last', last, MOST_LAST);
    if (shown === undefined) return current(now, id, at);
    const rows = series.slice(Math.max(0, series.length - shown)).map((each) => {
      const { tps, mspt } = pace(each);
      return [relative(each.ts, at), cpu(each), used(each), tps, mspt, String(each.players)];
    });
    const none = `No readings of ${id} in the last 24 hours.`;
    return listing(terminal.out, ['WHEN', 'CPU', 'MEMORY', 'TPS', 'MS PER TICK', 'PLAYERS'], rows, none);
  },
});

function current(now: Omit<typeof METRICS, 'series'>, id: string | undefined, at: number): string[] {
  if (now.memLimitMb === 0 && !now.live) return [`No current readings of ${id}.`];
  const { tps, mspt } = pace(now);
  const known = tps === '' ? 'unknown' : `${tps} ticks per second, ${mspt} ms each`;
  const slow = now.slowSince === '' ? '' : `, too slow since ${relative(now.slowSince, at)}`;
  return aligned([
    ['cpu', cpu(now) || 'unknown'],
    ['memory', used(now)],
    ['ticks', now.ticksAvailable ? known + slow : 'not available: the game does not report them'],
    ['players', String(now.players)],
  ]);
}

function cpu({ cpuPercent }: typeof FIGURES): string {
  return cpuPercent < 0 ? '' : `${Number(cpuPercent.toFixed(1))} %`;
}

function used({ memUsedMb, memLimitMb }: typeof FIGURES): string {
  return memLimitMb === 0 ? '' : `${memory(Math.round(memUsedMb))} of ${memory(Math.round(memLimitMb))}`;
}

/** Both '' if the game has not reported them. */
function pace({ tps, mspt }: typeof FIGURES): { tps: string; mspt: string } {
  if (tps === 0) return { tps: '', mspt: '' };
  return { tps: String(Number(tps.toFixed(1))), mspt: String(Number(mspt.toFixed(1))) };
}
