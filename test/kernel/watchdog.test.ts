import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';

test('a stuck event loop is reported once while it is stuck, with its activity and its stack', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'told');
  // A separate process, because the watchdog can inspect only a main thread.
  const child = fork(join(import.meta.dirname, 'watched-child.ts'), [path], { execArgv: [] });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit') as Promise<[code: number | null]>;
  const stuck = await new Promise<{ stuckMs: number; activity: string; at: string[] }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as never));
    // Unlike `exit`, this event follows every message.
    child.once('disconnect', () => reject(new Error('The process ended before a report.')));
  });
  t.true(stuck.stuckMs >= 200);
  t.is(stuck.activity, 'ListThings req-1');
  t.true(
    stuck.at.some((frame) => /^spinUntilTold \(test\/kernel\/watched-child\.ts:\d+\)$/.test(frame)),
    stuck.at.join('\n'),
  );
  const told = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes('ListThings'));
  t.is(told.length, 1, 'one report, however long the loop is stuck');
  // The innermost three frames, which may all be deeper than the program's own code.
  t.regex(told[0]!, /^The event loop has been stuck for 200 ms: ListThings req-1 < .+ \(.+:\d+\)/);
  t.is((await ended)[0], 0, 'the watchdog does not keep the process running');
});
