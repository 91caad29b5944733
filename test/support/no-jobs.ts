import { createChangeLock } from '../../src/jail/change-lock.ts';

/** For servers on whose files nothing is ever done as a whole. */
export const NO_JOBS = createChangeLock(() => undefined);
