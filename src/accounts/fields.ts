import * as z from 'zod';
import { line, message, text } from '../http/fields.ts';
import { normalizeEmail } from '../mail/mail.ts';
import { PASSWORD_BYTES, isPassword } from './passwords.ts';

/** An e-mail address, normalized for storage. */
export const Email = text(320)
  .transform((given, context) => {
    const email = normalizeEmail(given);
    if (email !== undefined) return email;
    context.addIssue('must be an e-mail address');
    return z.NEVER;
  })
  .meta({ format: 'email', maxLength: 254 });

/** A password to check. Only its greatest length is validated beforehand. */
export const Password = text(PASSWORD_BYTES.most);

/** A new password. */
export const NewPassword = text(PASSWORD_BYTES.most)
  .refine(isPassword, `must have ${PASSWORD_BYTES.least} to ${PASSWORD_BYTES.most} bytes`)
  .meta({ minLength: PASSWORD_BYTES.least });

/** The role of an invited user. */
export const MemberRole = z.enum(['member', 'limited'], 'must be member or limited');

/** An operator's reason, recorded in the audit log. */
export const Reason = line(256).trim().min(1, 'is required');

/** An id of a member or an invitation. */
export const MemberId = text(64).min(1, 'is required');

/** Every foreign id gets the same refusal, so that callers cannot probe which accounts exist. */
export const AccountId = z.string().max(128).describe("The caller's own account.");

/** The parameters of paths under `/v1/accounts/{accountId}`. */
export const AccountParams = message({ accountId: AccountId });
