import { fieldsMessage, violationsOf } from '../http/errors.ts';
import { CODES, StatusError } from '../kernel/status.ts';
import type { Page } from './page-request.ts';

/** Why a form failed: a sentence shown with it. */
export interface Problem {
  message: string;
  status: number;
  retryAfterSeconds?: number;
  /** The field concerned; absent: the form as a whole. */
  field?: string;
  /** Problems of an operation's fields, by name. Repeated for the form as a whole, which may not show all fields. */
  wrong?: Readonly<Record<string, string>>;
}

/** The problem of an invalid field. */
export function invalid(field: string, message: string): Problem {
  return { field, message, status: 422 };
}

/** Returns the problem for an error that the user can do something about. Rethrows any other error. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof StatusError) || error.code === 'INTERNAL') throw error;
  const { retryAfterSeconds } = error.options;
  const violations = violationsOf(error);
  // A form has one field for all entries of a list.
  const wrong = Object.fromEntries(
    violations.map(({ field, description }) => [field.replace(/\.\d+$/, ''), description]),
  );
  const inFields = Object.entries(wrong).map(([field, description]) => sentenceOf(field, description));
  const message = error.message === fieldsMessage(violations) ? inFields.join(' ') : error.message;
  return { message, status: statusOf(error), wrong, ...(retryAfterSeconds && { retryAfterSeconds }) };
}

/** Returns a field's problem with the field's label: `Keep last must be at least 0.` */
function sentenceOf(field: string, description: string): string {
  // A description that starts with a capital is a complete sentence.
  if (!/^[a-z]/.test(description)) return description;
  const words = field
    .replaceAll(/[._]|(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(/\b(?:id|ip|mb|ram|url)\b/g, (letters) => letters.toUpperCase());
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} ${description.replace(/\.$/, '')}.`;
}

/** Returns the page with the status of its form's problem, if there is one. */
export function withProblem(page: Page, problem: Problem | undefined): Page {
  if (!problem) return page;
  const { status, retryAfterSeconds } = problem;
  return { ...page, title: `Problem: ${page.title}`, status, ...(retryAfterSeconds && { retryAfterSeconds }) };
}

/** A 401 would require a challenge for programs (RFC 9110 §15.5.2), which forms do not have. */
export function statusOf(error: StatusError): number {
  if (error.options.httpStatus !== undefined) return error.options.httpStatus;
  return error.code === 'UNAUTHENTICATED' ? 403 : CODES[error.code][1];
}
