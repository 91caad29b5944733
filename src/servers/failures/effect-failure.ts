import type { Failure } from '../../../machines/server-types.ts';
import { EngineError } from '../../engines/engine.ts';
import { contentFailure } from '../../game/diagnosis/content-failure.ts';
import { StatusError } from '../../kernel/status.ts';
import { type Diagnose, withoutHostPaths } from './diagnoser.ts';
import { GameEnded } from '../readiness.ts';
import type { CrashArtefacts } from './crash-artefacts.ts';
import type { ServerRow } from '../rows.ts';

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

export interface FailedEffect {
  phase: 'install' | 'start';
  row: ServerRow;
  artefacts: CrashArtefacts;
  diagnose: Diagnose;
  dataDir: string;
}

/** Converts an effect's rejection to a failure for the owner. Never rejects. */
export async function asFailure(error: unknown, of: FailedEffect): Promise<Failure> {
  const { phase, row, artefacts, diagnose, dataDir } = of;
  if (error instanceof GameEnded) return diagnose(row, { ...artefacts, lines: error.lines, exit: error.exit, phase });
  if (error instanceof EngineError && error.code === 'install_failed')
    return diagnose(row, { ...artefacts, exit: null, phase });
  if (error instanceof EngineError) {
    const { code, message, suggestion } = error;
    return { code, summary: `${TITLES[code] ?? 'Engine error'}: ${message}`, suggestion, raw: '' };
  }
  if (error instanceof StatusError) return contentFailure(error);
  const message = withoutHostPaths(error instanceof Error ? error.message : String(error), dataDir, row.id);
  return { code: 'unknown', summary: `Unexpected error: ${message}`, suggestion: 'Try again.', raw: '' };
}
