import { constants } from 'node:os';
import process from 'node:process';
import { run } from './program.ts';

/** Aborted by the signals that end the process. */
const end = new AbortController();
let caught: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    caught ??= signal;
    end.abort();
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe (`dormouse logs … | head`).
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}

const { env, stdin, stdout, stderr } = process;
const code = await run(process.argv.slice(2), { env, stdin, stdout, stderr, signal: end.signal });
process.exitCode = caught === undefined || code === 0 ? code : 128 + constants.signals[caught];
