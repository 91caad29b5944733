import { join } from 'node:path';

/** For the environment of programs that tests start, many of them the same: they keep what Node compiles. */
export const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/dormouse') };
