import { setTimeout as delay } from 'node:timers/promises';
import { refusal } from '../api.ts';
import { on } from '../call.ts';
import { type Command, type Context, command } from '../command.ts';
import { isTransient } from '../errors.ts';
import { words } from '../format.ts';
import { chunksOf } from '../http.ts';
import { type StreamEvent, eventsIn } from '../log/sse.ts';
import { oneLine } from '../text.ts';

const LEAST_RETRY_MS = 1000;
const MOST_RETRY_MS = 15_000;

/** `dormouse events`. */
export const events: Command = command({
  name: 'events',
  summary: "Follow a server's events: states, starts, players, backups, alerts.",
  args: ['id'],
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
