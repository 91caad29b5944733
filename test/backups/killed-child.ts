/** `node killed-child.ts <folder> <what> [step]`: runs `headless` in a process that kills itself at a step. */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { type OnRestic, resticPlace } from '../support/restic.ts';
import { headless } from './headless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
// A killed process does not write its compile cache. Flush it now, so that the next process need not compile everything again.
flushCompileCache();
const { TEST_RESTIC = '' } = process.env;
await headless(dataDir, what, step, TEST_RESTIC === '' ? undefined : resticPlace(JSON.parse(TEST_RESTIC) as OnRestic));
