import type { Engine, Game } from '../../engines/engine.ts';
import { newestCrashReport } from '../../game/diagnosis/crash-reports.ts';
import { dataRoot } from '../../jail/data-root.ts';
import { lastPosition, linesBehind, sinceReady } from '../run-log.ts';

/** The remains of a failed install or start, for its diagnosis. */
export interface CrashArtefacts {
  lines: string[];
  /** The game's own report of its crash. */
  report: string[];
}

/** Knows, of each server, what belongs to the installation or start that has begun last. */
export interface CrashArtefactReader {
  /** To be called before it begins: gives what runs until then, and where the log ends. Rejects where the engine cannot say. */
  begin(id: string): Promise<{ before: Game | undefined; last: string | null }>;
  /** Returns where the log ended before the run; null if the whole log counts or the position is unknown. */
  logAfter(id: string): string | null;
  /** Never rejects. `since`: when it was asked for. */
  read(id: string, since: number): Promise<CrashArtefacts>;
  forget(id: string): void;
}

export function createCrashArtefacts({ engine, dataDir }: { engine: Engine; dataDir: string }): CrashArtefactReader {
  const begun = new Map<string, string | null>();
  return {
    async begin(id) {
      begun.delete(id);
      const before = await engine.inspect(id);
      const last = await lastPosition(engine, id);
      // A running game has already printed something.
      begun.set(id, before?.up ? null : last);
      return { before, last };
    },
    logAfter: (id) => begun.get(id) ?? null,
    async read(id, since) {
      const position = begun.get(id);
      return {
        lines: position === undefined ? [] : sinceReady(await linesBehind(engine, id, position)),
        report: await newestCrashReport(dataRoot(dataDir, id), since),
      };
    },
    forget: (id) => void begun.delete(id),
  };
}
