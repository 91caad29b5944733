import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine, LogLine } from '../engines/engine.ts';
import type { Log } from '../kernel/log.ts';
import { KIB } from '../kernel/units.ts';

/** The most lines a stream may begin with. */
export const MAX_TAIL = 1_000;
const BACKLOG_MS = 10_000;
/** Frames show no more. */
const LINE_CHARS = 8 * KIB;
/** After this many characters at once, readers get a turn. */
const BREATH_CHARS = 64 * KIB;

/** A follower of a log; `end` is called once, and nothing after it. */
export interface LogFollower {
  replay(frames: readonly string[]): void;
  send(frame: string): void;
  end(): void;
}

/**
 * Begins with the newest `tail` lines and goes on with new ones. To be called once; returns the cancellation, to be
 * called once.
 */
export type Follow = (follower: LogFollower, tail: number) => () => void;

/** The logs of servers as they grow. However many follow one, it is read from the engine once. */
export interface LogStreams {
  /** Resolves when the recent lines are there. The caller must then follow. Rejects with EngineError. */
  open(serverId: string): Promise<Follow>;
  /** How many logs are being read now. */
  tailers(): number;
}

interface Tailer {
  recent: string[];
  followers: Set<LogFollower>;
  /** Those who follow, and those who are about to. */
  users: number;
  over: boolean;
  ready: Promise<string | undefined>;
  stop: AbortController;
}

/**
 * `frame` turns a line into what followers get, once per line. The log of a game that does not run ends after its
 * recent lines.
 */
export function createLogStreams(engine: Pick<Engine, 'logs'>, frame: (line: string) => string, log: Log): LogStreams {
  const tailers = new Map<string, Tailer>();

  function begin(id: string): Tailer {
    const stop = new AbortController();
    const recent: string[] = [];
    const tailer: Tailer = {
      recent,
      followers: new Set(),
      users: 0,
      over: false,
      ready: readRecent(id, recent, stop.signal),
      stop,
    };
    tailers.set(id, tailer);
    void tailer.ready
      .then((position) => follow(id, tailer, position))
      .catch((error: unknown) => log.debug({ server: id, err: error }, 'a log cannot be followed'))
      .finally(() => finish(id, tailer));
    return tailer;
  }

  async function readRecent(id: string, recent: string[], stopped: AbortSignal): Promise<string | undefined> {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(BACKLOG_MS)]);
    let last: LogLine | undefined;
    for await (last of engine.logs(id, { tail: MAX_TAIL, lineChars: LINE_CHARS, signal }))
      keep(recent, frame(last.text));
    return last?.position;
  }

  async function follow(id: string, { recent, followers, stop }: Tailer, after: string | undefined): Promise<void> {
    const { signal } = stop;
    let chars = 0;
    for await (const { text } of engine.logs(id, { ...(after !== undefined && { after }), follow: true, signal })) {
      const framed = frame(text);
      keep(recent, framed);
      for (const follower of followers) follower.send(framed);
      chars += framed.length;
      if (chars < BREATH_CHARS) continue;
      chars = 0;
      await nextTurn();
    }
  }

  function finish(id: string, tailer: Tailer): void {
    tailer.over = true;
    if (tailers.get(id) === tailer) tailers.delete(id);
    for (const follower of tailer.followers) follower.end();
    tailer.followers.clear();
  }

  function leave(id: string, tailer: Tailer): void {
    tailer.users -= 1;
    if (tailer.users > 0) return;
    if (tailers.get(id) === tailer) tailers.delete(id);
    tailer.stop.abort();
  }

  return {
    async open(id) {
      const tailer = tailers.get(id) ?? begin(id);
      tailer.users += 1;
      try {
        await tailer.ready;
      } catch (error) {
        leave(id, tailer);
        throw error;
      }
      return (follower, tail) => {
        follower.replay(tailer.recent.slice(Math.max(0, tailer.recent.length - tail)));
        if (tailer.over) follower.end();
        else tailer.followers.add(follower);
        return () => {
          tailer.followers.delete(follower);
          leave(id, tailer);
        };
      };
    },
    tailers: () => tailers.size,
  };
}

function keep(recent: string[], frame: string): void {
  recent.push(frame);
  if (recent.length > MAX_TAIL) recent.shift();
}
