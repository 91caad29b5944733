import * as z from 'zod';
import { message } from '../http/fields.ts';

/** The parameters of paths under `/v1/accounts/{accountId}`. */
export const AccountParams = message({
  // Any that is not the caller's is refused alike: which ids are ones of accounts is not to be found out.
  accountId: z.string().max(128).describe("The caller's own."),
});
