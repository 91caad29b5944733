import * as z from 'zod';

/** An empty reply: 200 with `{}`. */
export const Nothing = z.object({}).meta({ id: 'EmptyReply' });
