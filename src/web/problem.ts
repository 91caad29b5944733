import { fieldsMessage, violationsOf } from '../http/errors.ts';
import { CODES, StatusError } from '../kernel/status.ts';
import type { Page } from './page-request.ts';

/** Why something was not done: a sentence beside the form. */
export interface Problem {
  message: string;
  status: number;
  retryAfterSeconds?: number;
  /** The field it is about; absent: the form as a whole. */
  field?: string;
  /** An operation's problems with its fields, by name. Also shown for the whole form, which may not show them all. */
  wrong?: Readonly<Record<string, string>>;
}

/** The problem of a form whose field is invalid. */
export function invalid(field: string, message: string): Problem {
  return { field, message, status: 422 };
}

/** The problem behind an error that its reader can do something about; throws any other on. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof StatusError) || error.code === 'INTERNAL') throw error;
  const { retryAfterSeconds } = error.options;
  const violations = violationsOf(error);
  const wrong = Object.fromEntries(violations.map(({ field, description }) => [field, description]));
  const inFields = Object.entries(wrong).map(([field, description]) => sentenceOf(field, description));
  const message = error.message === fieldsMessage(violations) ? inFields.join(' ') : error.message;
  return { message, status: statusOf(error), wrong, ...(retryAfterSeconds && { retryAfterSeconds }) };
}

/** Returns a field's problem for readers who know the field by its label: `Keep last must be at least 0.` */
function sentenceOf(field: string, description: string): string {
  // A description that begins with a capital is a sentence.
  if (!/^[a-z]/.test(description)) return description;
  const words = field
    .replaceAll(/[._]|(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(/\b(?:id|ip|mb|ram|url)\b/g, (letters) => letters.toUpperCase());
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} ${description.replace(/\.$/, '')}.`;
}

/** The page of a form that has a problem, or none. */
export function withProblem(page: Page, problem: Problem | undefined): Page {
  if (!problem) return page;
  const { status, retryAfterSeconds } = problem;
  return { ...page, title: `Problem: ${page.title}`, status, ...(retryAfterSeconds && { retryAfterSeconds }) };
}

/** A 401 would have to name a way for programs to sign in (RFC 9110 §15.5.2); forms are none. */
export function statusOf(error: StatusError): number {
  if (error.options.httpStatus !== undefined) return error.options.httpStatus;
  return error.code === 'UNAUTHENTICATED' ? 403 : CODES[error.code][1];
}
