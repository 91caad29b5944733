/** `node killed-child.ts <folder> <what> [step]`: what `doorless` does, by a process that kills itself at a step. */
import process from 'node:process';
import { doorless } from './doorless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
await doorless(dataDir, what, step);
