import { join } from 'node:path';

/** Environment of programs that tests start. Many run the same code, so they share Node's compile cache. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/dormouse') };
