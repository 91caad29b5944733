import { QueryFailedError } from 'typeorm';
import type { Clock } from '../kernel/clock.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';

const RETRY_MS = 1_000;

/** SQLite: locked, out of space or unreachable. https://www.sqlite.org/rescode.html */
const SQLITE_TROUBLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|INTERRUPT|PROTOCOL)/;
/**
 * PostgreSQL: connection, resources, shutdown, time-outs, idle transactions, and conflicts between transactions.
 * Appendix A of its manual.
 */
const POSTGRES_TROUBLE = /^(08|53|57P|57014|58|25P03|40001|40P01)/;
const NETWORK_TROUBLE = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
/** Messages without a code that drivers use when a connection is lost. */
const LOST = /connection terminated|timeout exceeded when trying to connect|connection error and is not queryable/i;

/**
 * Converts a driver's error for callers: UNAVAILABLE if the database is busy, full or unreachable, so that the same
 * call may succeed later. Returns any other error unchanged, but without the query's parameters, because errors are
 * logged.
 */
export function storeError(error: unknown): unknown {
  if (error instanceof QueryFailedError) Object.assign(error, { parameters: undefined });
  return isTrouble(error) ? unavailable(error) : error;
}

/** Returns an UNAVAILABLE error for any cause. */
export function unavailable(cause: unknown): StatusError {
  if (cause instanceof StatusError && cause.code === 'UNAVAILABLE') return cause;
  const full = /^(SQLITE_FULL|53100)/.test(codeOf(cause));
  return full
    ? new StatusError('UNAVAILABLE', 'DISK_FULL', 'The disk is full. Nothing was changed.', { cause })
    : new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'The database is unavailable. Try again.', { cause });
}

/**
 * Repeats a write every second while the database cannot be used. The write must be idempotent. Rejects with any other
 * error, and when `signal` fires.
 */
export async function untilStored<T>(write: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 'UNAVAILABLE') throw error;
    }
    await sleep(clock, RETRY_MS, signal);
  }
}

/** Returns the error for a write with an unknown outcome: the database became unreachable during its commit. */
export function unconfirmed(cause: unknown): StatusError {
  const sentence = 'The database did not confirm the change. Check whether it was made before you try again.';
  return new StatusError('UNAVAILABLE', 'STORE_UNCONFIRMED', sentence, { cause });
}

/** Reports whether a row was rejected because another one has its key. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && (codeOf(error) === '23505' || error.message.includes('UNIQUE constraint failed'));
}

function isTrouble(error: unknown): boolean {
  const code = codeOf(error);
  if ([SQLITE_TROUBLE, POSTGRES_TROUBLE, NETWORK_TROUBLE].some((codes) => codes.test(code))) return true;
  return error instanceof Error && LOST.test(error.message);
}

function codeOf(error: unknown): string {
  const { code } = (error instanceof QueryFailedError ? error.driverError : error) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
