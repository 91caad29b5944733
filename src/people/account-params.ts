import { z } from 'zod';
import { message } from '../http/fields.ts';

/** The parameters of paths under `/v1/accounts/{accountId}`. */
export const AccountParams = message({
  accountId: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe("The caller's own."),
});
