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
/** A clock that is set, or a machine that was asleep, makes no silence longer than that. */
const MOST_BETWEEN_MS = MINUTE_MS;

/**
 * Follows one running game. Each look says whether a port of it has answered; where none has, a new line in its log is a sign of
 * life too. Nothing is concluded while the engine, or the node of the game, cannot be asked, or shows no game: then its end is
 * about to be told.
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
