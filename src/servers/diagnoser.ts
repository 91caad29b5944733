import type { Failure } from '../../machines/server-types.ts';
import { EngineError, type Exit } from '../engines/engine.ts';
import { contentFailure } from '../game/diagnosis/content-failure.ts';
import { type Diagnosis, type DiagnosisContext, diagnose, diagnoseJob } from '../game/diagnosis/diagnosis.ts';
import { dataRoot } from '../jail/data-root.ts';
import { StatusError } from '../kernel/status.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { GameEnded } from './readiness.ts';
import type { ServerRow } from './rows.ts';
import type { CrashArtefacts } from './run-log.ts';

/** The evidence of a failure, and how the game ended; null if it has not. */
interface Evidence extends CrashArtefacts {
  exit: Exit | null;
  phase: DiagnosisContext['phase'];
}

const CPU_MS = 5_000;

const TITLES: Partial<Record<EngineError['code'], string>> = {
  engine_unavailable: 'Engine unreachable',
  image_pull_failed: 'Image not available',
  core_unavailable: 'Core not available here',
  wrong_java_version: 'Wrong Java version',
  download_failed: 'Download failed',
  port_in_use: 'Port in use',
  wrong_port: 'Wrong port',
  no_room: 'No room',
};

/** Explains failures of servers to their owners. Removes host paths from its results. */
export class Diagnoser {
  readonly #dataDir: string;
  readonly #workers: Pick<WorkerPool, 'run'> | undefined;

  /** `workers` read logs off the main thread. Without them, the caller's thread reads the log, whose size is limited. */
  constructor(dataDir: string, workers?: Pick<WorkerPool, 'run'>) {
    this.#dataDir = dataDir;
    this.#workers = workers;
  }

  /** Diagnoses a failed run or installation of a server. Never rejects. */
  async diagnose(row: ServerRow, { lines, report, exit, phase }: Evidence): Promise<Diagnosis> {
    const { type: core, version, ramMb } = row;
    const context = { phase, core, version, ramMb };
    const shown = (all: string[]) => all.map((line) => this.#withoutHostPaths(line, row.id));
    const input = { lines: shown(lines), report: shown(report), exit, context };
    if (this.#workers === undefined) return diagnoseJob.work(input);
    try {
      return await this.#workers.run(diagnoseJob, input, { tenant: row.accountId, cpuMs: CPU_MS });
    } catch {
      // The queue is full or the service is stopping. The exit alone still allows a diagnosis.
      return diagnose([], exit, context);
    }
  }

  /** Converts the rejection of an installation or start to a failure for the owner. Never rejects. */
  async failureOf(error: unknown, row: ServerRow, phase: 'install' | 'start', found: CrashArtefacts): Promise<Failure> {
    if (error instanceof GameEnded)
      return this.diagnose(row, { ...found, lines: error.lines, exit: error.exit, phase });
    if (error instanceof EngineError && error.code === 'install_failed')
      return this.diagnose(row, { ...found, exit: null, phase });
    if (error instanceof EngineError) {
      const { code, message, suggestion } = error;
      return { code, summary: `${TITLES[code] ?? 'Engine error'}: ${message}`, suggestion, raw: '' };
    }
    if (error instanceof StatusError) return contentFailure(error);
    const message = this.#withoutHostPaths(error instanceof Error ? error.message : String(error), row.id);
    return { code: 'unknown', summary: `Unexpected error: ${message}`, suggestion: 'Try again.', raw: '' };
  }

  /**
   * Replaces the server's folder in a text by `/data/…`, as its owner sees it, and removes other paths of the service.
   */
  #withoutHostPaths(text: string, serverId: string): string {
    const root = dataRoot(this.#dataDir, serverId);
    return text.includes(this.#dataDir) ? text.replaceAll(root, '/data').replaceAll(this.#dataDir, '…') : text;
  }
}
