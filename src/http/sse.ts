import type { Context } from 'koa';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { KIB, MINUTE_MS } from '../kernel/units.ts';
import type { AccessChange, AccessChanges } from './access-changes.ts';
import { onceEnded } from './ended.ts';
import { FrameStream, type Overflow } from './frame-stream.ts';
import type { Principal } from './principal.ts';

const PING_MS = 15_000;
const PING = ': ping\n\n';
const LIFE_MS = 30 * MINUTE_MS;
/** A client that reads nothing for this long although data is waiting, or does not let a stream end, has gone. */
const STALLED_MS = 30_000;
const LINE_BYTES = 8 * KIB;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  // Keeps reverse proxies from buffering.
  'X-Accel-Buffering': 'no',
};

/** Accepts the frames of a stream. Frames sent after its end are dropped. */
export type EventSink = Pick<FrameStream, 'replay' | 'send' | 'end'>;

/** A source of events. */
export interface EventSource {
  /** Called when the stream opens. Returns a function to call when it has closed. */
  play: (sink: EventSink) => () => void;
  overflow: Overflow;
}

/** The viewer of a stream. `check` rejects if access was lost. */
export interface Watcher {
  principal: Principal;
  check: () => Promise<unknown>;
}

/** Rechecks the access of streams' viewers. */
export interface Watched {
  clock: Clock;
  accessChanges: AccessChanges;
}

/** A frame with only data: one line of at most 8 KiB, which cannot contain another line (WHATWG HTML §9.2.6). */
export function dataFrame(line: string): string {
  return `data: ${cut(line.replaceAll(/[\r\n]/g, ''))}\n\n`;
}

/** A frame with an event id, from which a client can resume. Its data is JSON and therefore has no line breaks. */
export function eventFrame(event: { id: string; type: string; data: object }): string {
  const id = event.id === '' ? '' : `id: ${event.id}\n`;
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/**
 * Answers with a stream of events. Sends a ping every 15 s, ends after 30 min and uses bounded memory, whatever the
 * client does. Ends at once when the watcher loses access, which is checked after changes and with each ping.
 */
export function sendEvents(
  ctx: Context,
  source: EventSource,
  { principal, check }: Watcher,
  { clock, accessChanges }: Watched,
): void {
  const { res } = ctx;
  const frames = new FrameStream(source.overflow);
  let behindSince: number | null = null;
  let ending = false;
  const cancelBeat = every(clock, PING_MS, beat);
  let cancelEnd = clock.at(clock.now() + LIFE_MS, end);
  const ignoreChanges = accessChanges.onAccessChange((change) => void (concerns(change, principal) && recheck()));

  function beat(): void {
    const now = clock.now();
    behindSince = frames.isBehind ? (behindSince ?? now) : null;
    if (behindSince === null) frames.send(PING);
    else if (now - behindSince >= STALLED_MS) res.destroy();
    void recheck();
  }

  async function recheck(): Promise<void> {
    try {
      await check();
    } catch {
      end('now');
    }
  }

  function end(when?: 'behind' | 'now'): void {
    frames.end(when);
    if (ending) return;
    ending = true;
    cancelBeat();
    cancelEnd();
    cancelEnd = clock.at(clock.now() + STALLED_MS, () => res.destroy());
  }

  const stop = source.play({
    replay: (sent) => frames.replay(sent),
    send: (frame) => frames.send(frame),
    end,
  });

  function close(): void {
    stop();
    cancelBeat();
    cancelEnd();
    ignoreChanges();
    frames.destroy();
  }

  // A client that disconnected while the stream was opening emits no further 'close'.
  onceEnded(res, close);
  if (res.closed) return;
  ctx.set(HEADERS);
  ctx.body = frames;
  ctx.req.socket.setNoDelay(true);
  ctx.flushHeaders();
}

function concerns({ keyId, sessionId, userId }: AccessChange, principal: Principal): boolean {
  if (userId === principal.userId) return true;
  if (principal.kind === 'key') return keyId === principal.keyId;
  return principal.kind === 'session' && sessionId === principal.sessionId;
}

const encoder = new TextEncoder();
const scratch = new Uint8Array(LINE_BYTES);

/** Cuts a line to 8 KiB, at a character boundary. */
function cut(line: string): string {
  if (line.length * 3 <= LINE_BYTES) return line;
  // A slice would keep the whole long string in memory as long as the frame.
  return Buffer.from(scratch.subarray(0, encoder.encodeInto(line, scratch).written)).toString();
}
