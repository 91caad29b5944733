import type { Detail } from '../kernel/status.ts';
import type { CommandError } from './errors.ts';
import { aligned } from './table.ts';
import type { Output } from './terminal.ts';
import { oneLine, printable, withoutSecrets } from './text.ts';

/** A field of a request and its problem. */
export interface Violation {
  field: string;
  description: string;
}

/** Formats an error for a person: what happened, the problem of each field, and when to retry. */
export function errorLines({ status, advice }: CommandError, err: Output): string[] {
  const violations = violationsIn(status.details);
  const listed = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
  const message =
    violations.length > 0 && status.message === listed ? 'The service refused the request:' : status.message;
  return [
    `${err.style('red', 'dormouse:')} ${printable(message)}`,
    ...aligned(violations.map(({ field, description }) => ['', oneLine(field), oneLine(description)])),
    ...hints(status.details),
    ...advice.map((sentence) => `  ${printable(sentence)}`),
  ].map(withoutSecrets);
}

/** Formats an error for a program: the API's own status object. */
export function errorJson({ status }: CommandError): string {
  return withoutSecrets(JSON.stringify(status, null, 2));
}

/** Returns the problems of fields. */
export function violationsIn(details: readonly Detail[]): Violation[] {
  const found = detail(details, 'BadRequest')?.['fieldViolations'];
  return (Array.isArray(found) ? (found as Partial<Violation>[]) : []).map(({ field, description }) => ({
    field: String(field),
    description: String(description),
  }));
}

function* hints(details: readonly Detail[]): Generator<string> {
  const delay = detail(details, 'RetryInfo')?.['retryDelay'];
  if (typeof delay === 'string') yield `  Try again in ${oneLine(delay.replace(/s$/, ' s'))}.`;
  const requestId = detail(details, 'RequestInfo')?.['requestId'];
  if (typeof requestId === 'string') yield `  Request id: ${oneLine(requestId)}`;
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
