import { openSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { type Channel, MAX_MESSAGE_BYTES } from './messages.ts';

/** Unsent bytes at which the connection is closed. The other side gets the complete state when it reconnects. */
const MOST_UNSENT_BYTES = 8 * 1024 * 1024;
/** Unsent bytes above which `room` makes senders wait. */
const ROOM_BYTES = 256 * 1024;
/** Interval of pings. A peer silent for SILENT_MS (or its override) counts as gone. */
const BEAT_MS = 2_000;
const SILENT_MS = 12_000;

/** Options for both ends of a link. */
export const SOCKET_OPTIONS = {
  maxPayload: MAX_MESSAGE_BYTES,
  maxFragments: 64,
  perMessageDeflate: false,
} as const;

interface ChannelEvents {
  receive(text: string): void;
  /** Called once when the connection has ended, for any reason. */
  closed(): void;
  /** Reports the round-trip time of a ping, in ms. */
  lag?(ms: number): void;
}

/**
 * Wraps an open WebSocket as a Channel with heartbeats. The channel ends on a malformed message, if the reader falls
 * behind, or on silence. Passes the channel to `events`, which returns the handlers.
 */
export function openChannel(
  socket: WebSocket,
  events: (channel: Channel) => ChannelEvents,
  { silentMs = SILENT_MS }: { silentMs?: number } = {},
): void {
  let isOver = false;
  let heardAt = performance.now();
  let waiting: (() => void)[] = [];
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(timer);
    socket.terminate();
    release();
    handlers.closed();
  };
  const release = (): void => {
    if (!isOver && socket.bufferedAmount > ROOM_BYTES) return;
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  };
  const handlers = events({
    send(text) {
      if (isOver) return;
      if (socket.bufferedAmount > MOST_UNSENT_BYTES) end();
      else socket.send(text, release);
    },
    async room() {
      // Lets other work run in between, even if there is room.
      await turn();
      if (isOver || socket.bufferedAmount <= ROOM_BYTES) return;
      await new Promise<void>((resolve) => waiting.push(resolve));
    },
    close: () => end(),
  });
  const beat = (): void => {
    const at = performance.now();
    if (at - heardAt > silentMs) end();
    else socket.ping(String(at));
  };
  const timer = setInterval(beat, BEAT_MS).unref();
  socket.on('pong', (data) => {
    heardAt = performance.now();
    handlers.lag?.(Math.max(0, heardAt - Number(data.toString())));
  });
  socket.on('ping', () => (heardAt = performance.now()));
  socket.on('message', (data: Buffer, isBinary) => {
    heardAt = performance.now();
    if (isOver) return;
    try {
      if (isBinary) throw new Error('not a text message');
      handlers.receive(data.toString());
    } catch {
      end();
    }
  });
  socket.on('error', end);
  socket.on('close', end);
  beat();
}

/** The longest path that fits into `sockaddr_un` on every system, without its final zero (unix(7)). */
const LONGEST = 103;

/**
 * Returns a path for this socket that the kernel accepts. Replaces a path that is too long by one through a descriptor
 * of its folder, which stays open until the process ends. This works only on Linux; throws on other systems.
 */
export function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= LONGEST) return path;
  if (process.platform !== 'linux')
    throw new Error(`The path of DATA_DIR is too long for a socket (${path}). Choose a shorter path.`);
  return `/proc/self/fd/${openSync(dirname(path), 'r')}/${basename(path)}`;
}
