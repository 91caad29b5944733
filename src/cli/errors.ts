import type { CODES, Code as ServiceCode, Detail } from '../kernel/status.ts';

/** The codes of google.rpc.Code used here, with the service's numbers. */
const CODE = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const satisfies { [name in ServiceCode]?: (typeof CODES)[name][0] };

type Code = keyof typeof CODE;

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

/** Exit codes: refused by the service; wrong usage; not signed in or no service reached; Ctrl-C. */
export const EXIT = { refused: 1, usage: 2, noAccess: 3, interrupted: 130 } as const;

/** An error in the API's format (google.rpc.Status). This program's own errors use it, too. */
interface WireStatus {
  code: number;
  message: string;
  details: Detail[];
}

/** An error that ends a command. The message is for the person at the terminal and never contains a key. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: number;
  readonly status: WireStatus;
  /** Additional sentences for the person at the terminal. */
  readonly advice: readonly string[];
  /** The cause is on this computer or with the person, not at the service. */
  isLocal = false;

  constructor(exitCode: number, status: WireStatus, advice: readonly string[] = []) {
    super(status.message);
    this.exitCode = exitCode;
    this.status = status;
    this.advice = advice;
  }
}

/** The service refused the call. */
export function refused(status: WireStatus): CommandError {
  return new CommandError(EXIT.refused, status);
}

/** The command line is invalid. */
export function wrongUsage(message: string): CommandError {
  return own(EXIT.usage, 'INVALID_ARGUMENT', 'USAGE', message);
}

/** The service does not recognise the caller. */
export function notSignedIn(message: string): CommandError {
  return own(EXIT.noAccess, 'UNAUTHENTICATED', 'NOT_SIGNED_IN', message);
}

/** No service answers at the address, or it is not this API. */
export function unreachable(message: string): CommandError {
  return own(EXIT.noAccess, 'UNAVAILABLE', 'SERVICE_UNREACHABLE', message);
}

/** The key file cannot be read or written. */
export function noCredentialsFile(message: string): CommandError {
  return own(EXIT.noAccess, 'FAILED_PRECONDITION', 'NO_CREDENTIALS_FILE', message);
}

/** The request was accepted, but failed later. */
export function failed(reason: string, message: string, metadata: Record<string, string> = {}): CommandError {
  return own(EXIT.refused, 'FAILED_PRECONDITION', reason, message, metadata);
}

/** A local file or the person at the terminal prevented the command. */
export function failedHere(reason: string, message: string, metadata: Record<string, string> = {}): CommandError {
  return Object.assign(failed(reason, message, metadata), { isLocal: true });
}

/** Ctrl-C, with a sentence about what continues in the service. */
export function interrupted(message: string): CommandError {
  return own(EXIT.interrupted, 'CANCELLED', 'INTERRUPTED', message);
}

const AWAY: ReadonlySet<number> = new Set([CODE.UNAVAILABLE, CODE.ABORTED]);
const TRANSIENT: ReadonlySet<number> = new Set([
  CODE.UNAVAILABLE,
  CODE.DEADLINE_EXCEEDED,
  CODE.RESOURCE_EXHAUSTED,
  CODE.ABORTED,
  CODE.INTERNAL,
]);

/** Reports whether a poll may succeed later. */
export function isTransient(error: unknown): error is CommandError {
  return error instanceof CommandError && TRANSIENT.has(error.status.code);
}

/** Reports whether the service did not answer or was not ready. */
export function isAway(error: unknown): error is CommandError {
  return error instanceof CommandError && AWAY.has(error.status.code);
}

function own(exitCode: number, code: Code, reason: string, message: string, metadata = {}): CommandError {
  const info = { '@type': ERROR_INFO, reason, domain: 'dormouse.cli', metadata };
  return new CommandError(exitCode, { code: CODE[code], message, details: [info] });
}

/** A field of a request and its problem. */
interface Violation {
  field: string;
  description: string;
}

/** Returns the problems of fields. */
export function violationsIn(details: readonly Detail[]): Violation[] {
  const found = detail(details, 'BadRequest')?.['fieldViolations'];
  return (Array.isArray(found) ? (found as Partial<Violation>[]) : []).map(({ field, description }) => ({
    field: String(field),
    description: String(description),
  }));
}

/** Returns the stable reason of an error, such as `SERVER_NOT_FOUND`; '' if it has none. */
export function reasonOf({ status }: CommandError): string {
  const reason = detail(status.details, 'ErrorInfo')?.['reason'];
  return typeof reason === 'string' ? reason : '';
}

/** Returns the first detail of a kind, such as `ErrorInfo`. */
export function detail(details: readonly Detail[], type: string): Detail | undefined {
  return details.find((each) => each['@type'] === `type.googleapis.com/google.rpc.${type}`);
}
