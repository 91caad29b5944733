import type { Exit } from '../../engines/engine.ts';
import { type Diagnosis, type DiagnosisContext, diagnose, diagnoseJob } from '../../game/diagnosis/diagnosis.ts';
import { dataRoot } from '../../jail/data-root.ts';
import type { WorkerPool } from '../../kernel/workers/pool.ts';
import type { CrashArtefacts } from './crash-artefacts.ts';
import type { ServerRow } from '../rows.ts';

export interface DiagnoserOptions {
  dataDir: string;
  /** Absent: the diagnosis runs on the caller's thread, bounded by the log's size alone. */
  workers?: Pick<WorkerPool, 'run'> | undefined;
}

/** The evidence of a failure, and how the game ended; null if it has not. */
export interface Evidence extends CrashArtefacts {
  exit: Exit | null;
  phase: DiagnosisContext['phase'];
}

/** Diagnoses a failed run or installation of a server. Never rejects. */
export type Diagnose = (row: ServerRow, evidence: Evidence) => Promise<Diagnosis>;

const CPU_MS = 5_000;

/** Creates a diagnoser that reads logs off the main thread and removes host paths from its results. */
export function createDiagnoser({ dataDir, workers }: DiagnoserOptions): Diagnose {
  return async (row, { lines, report, exit, phase }) => {
    const { type: core, version, ramMb } = row;
    const context = { phase, core, version, ramMb };
    const input = {
      lines: lines.map((line) => withoutHostPaths(line, dataDir, row.id)),
      report: report.map((line) => withoutHostPaths(line, dataDir, row.id)),
      exit,
      context,
    };
    if (workers === undefined) return diagnoseJob.work(input);
    try {
      return await workers.run(diagnoseJob, input, { tenant: row.accountId, cpuMs: CPU_MS });
    } catch {
      // The queue is full or the service is stopping. The exit alone still allows a diagnosis.
      return diagnose([], exit, context);
    }
  };
}

/**
 * Replaces the server's folder in a text by `/data/…`, as its owner sees it, and removes other paths of the service.
 */
export function withoutHostPaths(text: string, dataDir: string, serverId: string): string {
  return text.includes(dataDir) ? text.replaceAll(dataRoot(dataDir, serverId), '/data').replaceAll(dataDir, '…') : text;
}
