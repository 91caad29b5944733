import test from 'ava';
import { createProxyLog } from '../../proxy/log.ts';

/** Runs `work`, and returns its output to standard output instead of writing it there. */
function written(work: () => void): string {
  const write = process.stdout.write.bind(process.stdout);
  let text = '';
  process.stdout.write = (chunk) => ((text += String(chunk)), true);
  try {
    work();
  } finally {
    process.stdout.write = write;
  }
  return text;
}

const LONG = 'x'.repeat(100_000);
const PAST_16_MIB = 200;

function fill(log: ReturnType<typeof createProxyLog>): void {
  for (let n = 0; n < PAST_16_MIB; n++) log.info({}, LONG);
}

test.serial('a proxy started by hand keeps logging past 16 MiB', (t) => {
  const log = createProxyLog('info');
  written(() => fill(log));
  t.regex(
    written(() => log.warn({}, 'the link broke')),
    /the link broke/,
  );
});

test.serial('a child proxy’s own log is limited per absence of its service, not over its lifetime', (t) => {
  let isThere = false;
  const log = createProxyLog('info', () => isThere);
  t.true(written(() => fill(log)).length < 17 * 1_048_576);
  t.is(
    written(() => log.warn({}, 'too much')),
    '',
  );
  isThere = true;
  t.is(
    written(() => log.warn({}, 'taken elsewhere')),
    '',
  );
  isThere = false;
  t.regex(
    written(() => log.warn({}, 'the next absence')),
    /the next absence/,
  );
});
