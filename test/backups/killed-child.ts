/** `node killed-child.ts <folder> <what> [step]`: what `headless` does, by a process that kills itself at a step. */
import process from 'node:process';
import { headless } from './headless.ts';

const [dataDir = '', what = '', step = ''] = process.argv.slice(2);
await headless(dataDir, what, step);
