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
/** A client that takes nothing for this long, though something waits for it, or does not let a stream end, has gone. */
const STALLED_MS = 30_000;
/** A stream ends if no check of its watcher's access has succeeded for this long. */
const UNCONFIRMED_MS = MINUTE_MS;
const LINE_BYTES = 8 * KIB;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  // Reverse proxies would hold frames back.
  'X-Accel-Buffering': 'no',
};

/** Where the frames of a stream go. What is sent to a stream that has ended is ignored. */
export type EventSink = Pick<FrameStream, 'replay' | 'send' | 'end'>;

/** What a stream shows. */
export interface EventSource {
  /** Called once the stream is open; gives what is to be done when it has closed. */
  play: (sink: EventSink) => () => void;
  overflow: Overflow;
}

/** Who watches a stream, and whether they still may: `check` rejects if not. */
export interface Watcher {
  principal: Principal;
  check: () => Promise<unknown>;
}

/** What streams and their watchers' access are followed by. */
export interface Watched {
  clock: Clock;
  accessChanges: AccessChanges;
}

/** A frame with nothing but data: one line of at most 8 KiB, in which no other line can hide (WHATWG HTML §9.2.6). */
export function dataFrame(line: string): string {
  return `data: ${cut(line.replaceAll(/[\r\n]/g, ''))}\n\n`;
}

/** A frame with an event that can be resumed behind. The data is JSON, in which there are no line ends. */
export function eventFrame(event: { id: string; type: string; data: object }): string {
  const id = event.id === '' ? '' : `id: ${event.id}\n`;
  return `${id}event: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/**
 * Answers with a stream of events: pings every 15 s, ends after 30 min, costs bounded memory whatever the client does, and
 * ends at once where the watcher's access does: looked at when something changes about it, and with each ping.
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
  let confirmedAt = clock.now();
  const cancelBeat = every(clock, PING_MS, beat);
  let cancelEnd = clock.at(clock.now() + LIFE_MS, end);
  const ignoreChanges = accessChanges.onAccessChange((change) => void (concerns(change, principal) && recheck()));

  function beat(): void {
    const now = clock.now();
    behindSince = frames.isBehind ? (behindSince ?? now) : null;
    if (behindSince === null) frames.send(PING);
    else if (now - behindSince >= STALLED_MS) res.destroy();
    if (now - confirmedAt >= UNCONFIRMED_MS) end('now');
    else void recheck();
  }

  async function recheck(): Promise<void> {
    try {
      await check();
      confirmedAt = clock.now();
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

  // A client that went away while the stream was being opened emits no 'close' any more.
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

/** At most 8 KiB of a line, and no half characters. */
function cut(line: string): string {
  if (line.length * 3 <= LINE_BYTES) return line;
  // A slice of a long string would keep all of it in memory, for as long as a frame is kept.
  return Buffer.from(scratch.subarray(0, encoder.encodeInto(line, scratch).written)).toString();
}
