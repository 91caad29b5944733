import { invalidFields } from '../../http/errors.ts';
import type { StatusError } from '../../kernel/status.ts';

/** The refusal of an amount that a person typed; `description` says how it is written. */
export function badAmount(field: string, description: string): StatusError {
  return invalidFields([{ field, description }], 'This amount is not allowed.');
}
