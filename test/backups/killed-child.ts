/** `node killed-child.ts <folder> <what> [step]`: what `headless` does, by a process that kills itself at a step. */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { createOffSite } from '../../src/backups/offsite/offsite.ts';
import { createS3, type S3Options } from '../../src/backups/offsite/s3.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { headless } from './headless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
// Who is killed keeps nothing of what Node compiled, and the next would compile it all again.
flushCompileCache();
const { TEST_S3 = '' } = process.env;
await headless(dataDir, what, step, TEST_S3 === '' ? undefined : offSite(JSON.parse(TEST_S3) as OnS3));

/** Where backups go off site, and how. */
interface OnS3 {
  location: string;
  options: Omit<S3Options, 'clock'>;
}

function offSite({ location, options }: OnS3) {
  return createOffSite(location, createS3({ ...options, clock: systemClock }));
}
