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

test('a rejection that nobody takes is logged, and the process goes on', (t) => {
  const { status, stdout } = run('rejects');
  t.is(status, 0);
  t.regex(stdout, /"level":"error".*nobody awaits this.*the service goes on.*\ngoes on\n$/);
});

test('a throw that nobody catches is logged, and ends the process once all is closed', (t) => {
  const { status, stdout } = run('throws');
  t.is(status, 1);
  t.regex(stdout, /"level":"error".*out of a callback.*the service ends.*\nclosed\n$/);
});

test('it ends, too, where it cannot close', (t) => {
  for (const what of ['closesNever', 'closesWrongly']) {
    const { status, stdout } = run(what);
    t.is(status, 1, what);
    t.regex(stdout, /out of a callback/, what);
  }
});
