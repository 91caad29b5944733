import type { Failure } from '../../machines/server-types.ts';
import { contentFailure } from '../hosting/content-failure.ts';
import { diagnose } from '../hosting/diagnosis.ts';
import { EngineError } from '../ports.ts';
import { StatusError } from '../status.ts';
import type { ServerRow } from '../store/rows.ts';
import { GameEnded } from './readiness.ts';
import type { Remains } from './remains.ts';

const TITLES: Partial<Record<EngineError['code'], string>> = {
  engine_unavailable: 'Engine out of reach',
  image_pull_failed: 'Image not available',
  core_unavailable: 'Core not available here',
  port_in_use: 'Port in use',
};

/** What an effect rejected with, as its owner can read it. */
export function asFailure(error: unknown, phase: 'install' | 'start', row: ServerRow, remains: Remains): Failure {
  const context = { ...row, core: row.type, phase };
  if (error instanceof GameEnded) return diagnose(error.lines, error.exit, context, remains.report);
  if (error instanceof EngineError && error.code === 'install_failed')
    return diagnose(remains.lines, null, context, remains.report);
  if (error instanceof EngineError) {
    const { code, message, suggestion } = error;
    return { code, summary: `${TITLES[code] ?? 'Engine error'}: ${message}`, suggestion, raw: '' };
  }
  if (error instanceof StatusError) return contentFailure(error);
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'unknown', summary: `Unexpected error: ${message}`, suggestion: 'Try again.', raw: '' };
}
