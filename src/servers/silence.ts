import type { Engine } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import { MINUTE_MS } from '../kernel/units.ts';

/** How long a running game has shown no activity. */
export interface Silence {
  /** How long the whole game has been silent; null if something answered, absent if it cannot be known. */
  silentMs?: number | null;
  /** A silent game's last lines. */
  lastLines?: string;
}

export interface SilenceOptions {
  engine: Pick<Engine, 'inspect' | 'logs' | 'nodes'>;
  clock: Clock;
}

const LAST_LINES = 20;
/**
 * Limit of the silence added between two calls, so that a changed clock or a suspended machine does not count as
 * silence.
 */
const MOST_BETWEEN_MS = MINUTE_MS;

/**
 * Follows one running game. Call the returned function regularly with whether a port has answered; if none has, new log
 * lines also count as a sign of life. The silence is unknown while the engine or the game's node is unreachable, or
 * shows no game: the end is then about to be reported.
 */
export function listenFor({ engine, clock }: SilenceOptions, id: string): (answered: boolean) => Promise<Silence> {
  let silentMs: number | undefined;
  let lookedAt = 0;
  let position: string | undefined;

  async function lastLines(): Promise<{ position: string; text: string }> {
    const lines: string[] = [];
    let last = '';
    for await (const line of engine.logs(id, { tail: LAST_LINES })) {
      lines.push(line.text);
      last = line.position;
    }
    return { position: last, text: lines.join('\n') };
  }

  return async (answered) => {
    const at = clock.now();
    const since = Math.min(Math.max(0, at - lookedAt), MOST_BETWEEN_MS);
    if (answered) {
      silentMs = undefined;
      position = undefined;
      return { silentMs: null };
    }
    lookedAt = at;
    if (lostGame(engine.nodes, id)) return {};
    try {
      if (!(await engine.inspect(id))?.up) return {};
      const log = await lastLines();
      const isNew = position !== undefined && position !== log.position;
      position = log.position;
      if (isNew) {
        silentMs = undefined;
        return { silentMs: null };
      }
      silentMs = silentMs === undefined ? 0 : silentMs + since;
      return { silentMs, lastLines: log.text };
    } catch {
      return {};
    }
  };
}
