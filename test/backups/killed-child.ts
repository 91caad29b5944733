/** `node killed-child.ts <folder> <what> [step]`: what `headless` does, by a process that kills itself at a step. */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { headless } from './headless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
// Who is killed keeps nothing of what Node compiled, and the next would compile it all again.
flushCompileCache();
await headless(dataDir, what, step);
