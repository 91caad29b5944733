import { createChangeLock } from '../../src/jail/change-lock.ts';

/** A lock for servers whose files no job ever locks as a whole. */
export const NO_JOBS = createChangeLock(() => undefined);
