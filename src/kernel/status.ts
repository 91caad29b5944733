/**
 * Errors as callers see them: google.rpc.Status (https://google.aip.dev/193). `code` on the wire is the number of the
 * google.rpc.Code, not the HTTP status.
 */

/** google.rpc.Code: name → [number, HTTP status]. Errors of body size and method override only the HTTP status. */
export const CODES = {
  CANCELLED: [1, 499],
  UNKNOWN: [2, 500],
  INVALID_ARGUMENT: [3, 400],
  DEADLINE_EXCEEDED: [4, 504],
  NOT_FOUND: [5, 404],
  ALREADY_EXISTS: [6, 409],
  PERMISSION_DENIED: [7, 403],
  RESOURCE_EXHAUSTED: [8, 429],
  FAILED_PRECONDITION: [9, 400],
  ABORTED: [10, 409],
  OUT_OF_RANGE: [11, 400],
  UNIMPLEMENTED: [12, 501],
  INTERNAL: [13, 500],
  UNAVAILABLE: [14, 503],
  DATA_LOSS: [15, 500],
  UNAUTHENTICATED: [16, 401],
} as const satisfies Record<string, readonly [number, number]>;

export type Code = keyof typeof CODES;

/** A further google.rpc detail, e.g. `{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: […] }`. */
export type Detail = { '@type': string; [field: string]: unknown };

/** Explains a refused wake to players and owners. The message of the error is for API callers. */
export interface RefusalWords {
  /** The kick message of a player who joins. */
  player: string;
  /** The line in the server list, in place of the hint how to wake the server; `§` codes. */
  list?: string;
  /** The obstacle on the server's pages. */
  owner?: OwnerWords;
}

/** Why a server cannot start, and how its owner fixes it. */
export interface OwnerWords {
  title: string;
  /** The role that can fix it, the page and the action. A relative page is one of the server's pages. */
  mend?: readonly [by: 'owner' | 'member', page: string, how: string];
  /** The action for all other readers. */
  others: string;
}

export interface StatusOptions {
  /**
   * The variable parts of the message as strings, for programs (AIP-193). If a resource is missing or already exists,
   * its name is the last entry.
   */
  metadata?: Record<string, string>;
  details?: Detail[];
  /** The HTTP status if it differs from the code's, e.g. 405 or 413. */
  httpStatus?: number;
  /** Sent as `Retry-After` and google.rpc.RetryInfo. */
  retryAfterSeconds?: number;
  /** Texts for players and owners if a rule refuses a wake. Never sent to API callers. */
  words?: RefusalWords;
  /** For the log only. */
  cause?: unknown;
}

/**
 * An error for callers. Any code may throw it, and one middleware renders it. `reason` is stable and matches
 * [A-Z][A-Z0-9_]+; `message` helps the caller.
 */
export class StatusError extends Error {
  readonly code: Code;
  readonly reason: string;
  readonly options: StatusOptions;
  constructor(code: Code, reason: string, message: string, options: StatusOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.options = options;
  }
}

/** Prefix of the `@type` of every detail. */
export const DETAIL_TYPE = 'type.googleapis.com/google.rpc.';

/** google.rpc.QuotaFailure: the subject (`account:acc_…`) whose quota is used up, and a sentence about it. */
export function quotaFailure(subject: string, description: string): Detail {
  return { '@type': `${DETAIL_TYPE}QuotaFailure`, violations: [{ subject, description }] };
}

/**
 * google.rpc.PreconditionFailure: the kind of state that prevents the call, its subject (`server:…`), and a sentence
 * about it.
 */
export function preconditionFailure(type: string, subject: string, description: string): Detail {
  return { '@type': `${DETAIL_TYPE}PreconditionFailure`, violations: [{ type, subject, description }] };
}

/** The problem of one field: a dotted path in the body, or a parameter's name. */
export interface FieldViolation {
  field: string;
  description: string;
}

/** google.rpc.BadRequest: the problem of each invalid field. */
export function badRequest(fieldViolations: readonly FieldViolation[]): Detail {
  return { '@type': `${DETAIL_TYPE}BadRequest`, fieldViolations };
}

/** google.rpc.ResourceInfo: the type and name of a missing or existing resource, and a sentence about it. */
export function resourceInfo(resourceType: string, resourceName: string, description: string): Detail {
  return { '@type': `${DETAIL_TYPE}ResourceInfo`, resourceType, resourceName, owner: '', description };
}

/** A refusal for a used-up quota of `subject` (`account:acc_…`): RESOURCE_EXHAUSTED with a google.rpc.QuotaFailure. */
export function quotaExceeded(
  reason: string,
  subject: string,
  message: string,
  metadata: Record<string, string> = {},
  words?: RefusalWords,
): StatusError {
  const details = [quotaFailure(subject, message)];
  return new StatusError('RESOURCE_EXHAUSTED', reason, message, { metadata, details, ...(words && { words }) });
}
