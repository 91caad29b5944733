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

/** Reads the artefacts of the latest installation or start of each server. */
export interface CrashArtefactReader {
  /**
   * Marks the beginning of a run. Returns the game that runs until then and the end of its log. Rejects if the engine
   * cannot be reached.
   */
  begin(id: string): Promise<{ before: Game | undefined; last: string | null }>;
  /** Returns the end of the log before the run; null if the whole log counts or the position is unknown. */
  logAfter(id: string): string | null;
  /** Never rejects. `since`: when the run was requested. */
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
