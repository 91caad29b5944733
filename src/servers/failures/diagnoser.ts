import type { Exit } from '../../engines/engine.ts';
import { type Diagnosis, type DiagnosisContext, diagnose, diagnoseJob } from '../../game/diagnosis/diagnosis.ts';
import { dataRoot } from '../../jail/data-root.ts';
import type { WorkerPool } from '../../kernel/workers/pool.ts';
import type { CrashArtefacts } from './crash-artefacts.ts';
import type { ServerRow } from '../rows.ts';

export interface DiagnoserOptions {
  dataDir: string;
  /** Absent: the caller's own thread, which the size of a log alone bounds. */
  workers?: Pick<WorkerPool, 'run'> | undefined;
}

/** The evidence of a failure, and how the game ended; null if it has not. */
export interface Evidence extends CrashArtefacts {
  exit: Exit | null;
  phase: DiagnosisContext['phase'];
}

/** Says why a run or an installation of a server failed. Never rejects. */
export type Diagnose = (row: ServerRow, evidence: Evidence) => Promise<Diagnosis>;

const CPU_MS = 5_000;

/** Reads logs away from the thread that serves everybody, and leaves out where on this machine the files lie. */
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

/** A text with the server's own files as its owner sees them, `/data/…`, and nothing of where else the service keeps files. */
export function withoutHostPaths(text: string, dataDir: string, serverId: string): string {
  return text.includes(dataDir) ? text.replaceAll(dataRoot(dataDir, serverId), '/data').replaceAll(dataDir, '…') : text;
}
