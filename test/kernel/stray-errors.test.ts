import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'ava';

function run(what: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'stray-child.ts'), what], {
    encoding: 'utf8',
    timeout: 50_000,
  });
  return { status, stdout, stderr };
}

test('an unhandled rejection is logged, and the process keeps running', (t) => {
  const { status, stdout } = run('rejects');
  t.is(status, 0);
  t.regex(stdout, /"level":"error".*nobody awaits this.*The service continues.*\ngoes on\n$/);
});

test('an uncaught exception is logged, and the process exits once everything is closed', (t) => {
  const { status, stdout } = run('throws');
  t.is(status, 1);
  t.regex(stdout, /"level":"error".*out of a callback.*The service exits.*\nclosed\n$/);
});

test('an uncaught exception ends the process even if closing hangs or fails', (t) => {
  for (const what of ['closesNever', 'closesWrongly']) {
    const { status, stdout } = run(what);
    t.is(status, 1, what);
    t.regex(stdout, /out of a callback/, what);
  }
});
