/** `node killed-child.ts <folder> <what> [step]`: runs `headless` in a process that kills itself at a step. */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { createOffSite } from '../../src/backups/offsite/offsite.ts';
import { createS3 } from '../../src/backups/offsite/s3.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type OnRestic, resticPlace } from '../support/restic.ts';
import { headless } from './headless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
// A killed process does not write its compile cache. Flush it now, so that the next process need not compile everything again.
flushCompileCache();
const { TEST_S3 = '', TEST_RESTIC = '' } = process.env;
const inRestic = TEST_RESTIC === '' ? undefined : resticPlace(JSON.parse(TEST_RESTIC) as OnRestic);
await headless(dataDir, what, step, TEST_S3 === '' ? inRestic : offSite(JSON.parse(TEST_S3) as OnS3));

/** The off-site location and its S3 options. */
interface OnS3 {
  location: string;
  options: Omit<Parameters<typeof createS3>[0], 'clock'>;
}

function offSite({ location, options }: OnS3) {
  return createOffSite(location, createS3({ ...options, clock: systemClock }));
}
