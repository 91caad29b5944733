import { invalidFields } from '../../http/errors.ts';
import type { StatusError } from '../../kernel/status.ts';

/** The refusal of an amount that a user entered. `description` explains the format. */
export function badAmount(field: string, description: string): StatusError {
  return invalidFields([{ field, description }], 'This amount is not allowed.');
}
