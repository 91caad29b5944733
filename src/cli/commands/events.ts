import { setTimeout as delay } from 'node:timers/promises';
import { refusal } from '../api.ts';
import { type Command, type Context, call, command, on, option } from '../command.ts';
import { isTransient } from '../errors.ts';
import { aligned, listing, memory, relative, words } from '../format.ts';
import { type StreamEvent, chunksOf, eventsIn } from '../http.ts';
import { wholeNumber } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import { oneLine } from '../text.ts';

const LEAST_RETRY_MS = 1000;
const MOST_RETRY_MS = 15_000;

/** `dormouse events`. */
export const events: Command = command({
  usage: 'events <id>',
  summary: "Follow a server's events: states, starts, players, backups, alerts.",
  details: 'With --json, each line is one JSON object: {"event": "state", "at": "…", …}.',
  async run(context, [id = '']) {
    const { json, terminal } = context;
    for await (const { event, data } of follow(context, id)) {
      const fields = fieldsOf(data);
      const { at = '', ...others } = fields;
      if (json) terminal.out.line(JSON.stringify({ event, ...fields }));
      else terminal.out.line([String(at).slice(0, 19), oneLine(event).padEnd(8), inWords(others)].join('  ').trimEnd());
    }
  },
});

/**
 * Yields events without end. Resumes a lost stream after the last event. Throws if the server does not exist (any
 * more).
 */
async function* follow(context: Context, id: string): AsyncGenerator<StreamEvent> {
  const { signal, terminal } = context;
  let last = '';
  for (let retryMs = LEAST_RETRY_MS; ; retryMs = Math.min(MOST_RETRY_MS, retryMs * 2)) {
    try {
      for await (const each of eventsIn(await open(context, id, last))) {
        retryMs = LEAST_RETRY_MS;
        if (each.id !== '') last = each.id;
        yield each;
      }
    } catch (error) {
      if (!isTransient(error)) throw error;
      terminal.note(terminal.err.style('dim', '— Connection lost. Retrying.'));
    }
    await delay(retryMs, undefined, { signal });
  }
}

async function open({ api, signal }: Context, id: string, last: string): Promise<AsyncIterable<Uint8Array>> {
  const { data, error, response } = await api.GET('/v1/servers/{id}/events/stream', {
    ...on(id),
    headers: { accept: 'text/event-stream', ...(last !== '' && { 'last-event-id': last }) },
    parseAs: 'stream',
  });
  if (!data) throw refusal(error, response);
  return chunksOf(data, api.url, signal);
}

function fieldsOf(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Lists the non-empty fields by name, because new kinds of events may be added. */
function inWords(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${words(name.replace(/(?=[A-Z])/g, '_'))} ${plain(value)}`)
    .join(', ');
}

function plain(value: unknown): string {
  if (typeof value !== 'object' || value === null) return oneLine(words(String(value)));
  return Object.values(value)
    .filter((each) => each !== '' && each !== null)
    .map(plain)
    .join(' ');
}

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
  usage: 'metrics <id>',
  summary: "Show a server's CPU, memory, ticks and players: now, or by the minute.",
  options: { last: option('n', `Show the last n readings, one per minute awake (at most ${MOST_LAST}).`, 'n') },
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/metrics', on(id)),
  shape: METRICS,
  show({ series, ...now }, { out, args: [id], values: { last }, now: at }) {
    const shown = wholeNumber('last', last, MOST_LAST);
    if (shown === undefined) return current(now, id, at);
    const items = series.slice(Math.max(0, series.length - shown));
    const none = `No readings of ${id} in the last 24 hours.`;
    return listing(out, items, none, {
      WHEN: ({ ts }) => relative(ts, at),
      CPU: cpu,
      MEMORY: used,
      TPS: (each) => pace(each).tps,
      'MS PER TICK': (each) => pace(each).mspt,
      PLAYERS: ({ players }) => String(players),
    });
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
