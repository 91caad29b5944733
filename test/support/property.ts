import { configureGlobal } from 'fast-check';
import { SEED } from './random.ts';

configureGlobal({ seed: SEED });

/** Property tests begin at this run's `SEED`, which their failures print; `TEST_SEED` repeats it. */
export * from 'fast-check';
