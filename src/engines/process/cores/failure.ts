import type { StatusError } from '../../../kernel/status.ts';
import { EngineError } from '../../engine.ts';

/** Codes of the system for a machine that reaches no other one, or no name server. */
const OFFLINE = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'ENETDOWN', 'EHOSTUNREACH']);
/** Most cores listed in one sentence. */
const MOST_LISTED = 8;

/**
 * Returns the EngineError of a failed request to a source: `download_failed` for a temporary fault, otherwise
 * `core_unavailable`. `instead`: what people can do without the source. `here`: the cores that need no download.
 */
export function sourceFailure(error: StatusError, instead: string, here: readonly string[] = []): EngineError {
  const { message: cause } = error;
  if (error.code !== 'UNAVAILABLE')
    return new EngineError('core_unavailable', cause, {
      suggestion: `Choose another version, or ${instead}.`,
      cause: error,
    });
  const list = here.length === 0 ? '' : ` Already on this machine: ${here.slice(0, MOST_LISTED).join(', ')}.`;
  const isOffline = OFFLINE.has(systemCode(error) ?? '');
  const message = isOffline ? 'This machine has no connection to the internet.' : cause;
  const suggestion = isOffline
    ? `Connect it, or ${instead}.${list}`
    : `Try again in a few minutes, or ${instead}.${list}`;
  return new EngineError('download_failed', message, { suggestion, cause: error });
}

/** Returns the system's code of the innermost cause that has one. */
function systemCode(error: Error): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const { code, syscall } = each as NodeJS.ErrnoException;
    if (syscall !== undefined && code !== undefined) return code;
  }
  return undefined;
}
