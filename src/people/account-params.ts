import * as z from 'zod';
import { message } from '../http/fields.ts';

/** The parameters of paths under `/v1/accounts/{accountId}`. */
export const AccountParams = message({
  // Every foreign id gets the same refusal, so that callers cannot probe which accounts exist.
  accountId: z.string().max(128).describe("The caller's own account."),
});
