import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { signalGame } from '../../src/engines/process/family.ts';
import { processTable } from '../../src/engines/process/table.ts';
import { until } from '../support/until.ts';
import { writeProgram } from '../support/write-program.ts';

test.runIf(process.platform === 'linux')(
  'a game that bubblewrap has not started yet is ended with all processes of bubblewrap',
  async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'dormouse-family-'));
    t.teardown(() => rm(dir, { recursive: true }));
    const mark = `DORMOUSE_FAMILY_TEST=${dir}`;
    const [name = '', value] = mark.split('=');
    // Like bubblewrap before the game: a second process of the same name, which waits.
    const program = join(dir, 'bwrap');
    writeProgram(program, '#!/bin/sh\nmkfifo "$0.pipe"\n(exec 3<>"$0.pipe"; echo up; read -r _ <&3) &\nwait\n');
    const started = spawn(program, { env: { ...process.env, [name]: value }, detached: true });
    const ended = once(started, 'exit');
    await once(started.stdout, 'data');
    t.is((await processTable.withEnvironment(mark)).length, 2);
    await signalGame(started.pid!, 'SIGTERM');
    await ended;
    await until(async () => (await processTable.withEnvironment(mark)).length === 0);
    t.pass();
  },
);
