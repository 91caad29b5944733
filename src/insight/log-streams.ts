import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine, LogLine } from '../engines/engine.ts';
import type { Log } from '../kernel/log.ts';
import { KIB } from '../kernel/units.ts';

/** The most lines a stream may begin with. */
export const MAX_TAIL = 1_000;
const BACKLOG_MS = 10_000;
/** The most characters of a line in a frame. */
const LINE_CHARS = 8 * KIB;
/** Number of characters after which other work of this process may run. */
const BREATH_CHARS = 64 * KIB;

/** A follower of a log. `end` is called at most once, and no other method after it. */
interface LogFollower {
  replay(frames: readonly string[]): void;
  send(frame: string): void;
  end(): void;
}

/**
 * Sends the newest `tail` lines, then new ones. Must be called once. Returns a function that stops this, which must be
 * called once.
 */
type Follow = (follower: LogFollower, tail: number) => () => void;

/** Streams servers' logs. Each log is read from the engine once, however many clients follow it. */
export interface LogStreams {
  /** Resolves when the recent lines are loaded. The caller must then follow. Rejects with EngineError. */
  open(serverId: string): Promise<Follow>;
  /** Returns the number of logs being read. */
  tailers(): number;
}

interface Tailer {
  recent: string[];
  followers: Set<LogFollower>;
  /** The number of current and pending followers. */
  users: number;
  over: boolean;
  ready: Promise<string | undefined>;
  stop: AbortController;
}

/**
 * Creates log streams. `frame` converts each line once, for all followers. The log of a game that is not running
 * ends after its recent lines.
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
