import { execFile } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { type Start, callOf } from '../../src/cli/called.ts';
import { newProgram } from './program.ts';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'src/cli/dormouse.js');

test('hints name the command that started the program', (t) => {
  const linked = '/srv/dormouse/node_modules/.bin/dormouse';
  const ways: [Start, string][] = [
    [{ cwd: '/srv' }, 'npx dormouse'],
    [{ script: linked, npmCommand: 'exec', cwd: '/srv/dormouse' }, 'npx dormouse'],
    [{ script: linked, npmCommand: 'exec', cwd: '/srv/dormouse/docs' }, 'npx dormouse'],
    // Started by `npx --prefix /srv/dormouse`. A hint `npx dormouse` would run another package in this folder.
    [{ script: linked, npmCommand: 'exec', cwd: '/home/me' }, linked],
    [{ script: '/usr/local/bin/dormouse', path: '/usr/bin:/usr/local/bin', cwd: '/home/me' }, 'dormouse'],
    [{ script: '/opt/bin/dormouse', path: '/usr/bin', cwd: '/home/me' }, '/opt/bin/dormouse'],
    [{ script: '/opt/bin/dormouse', path: '/usr/bin', cwd: '/opt/bin' }, './dormouse'],
    [{ script: '/srv/dormouse/src/cli/dormouse.js', cwd: '/srv/dormouse' }, 'node src/cli/dormouse.js'],
    [{ script: '/srv/dormouse/src/cli/dormouse.js', cwd: '/home/me' }, 'node /srv/dormouse/src/cli/dormouse.js'],
    [{ script: '/home/Zoë/dormouse.js', cwd: '/' }, 'node home/Zoë/dormouse.js'],
    [{ script: '/my games/src/cli/dormouse.js', cwd: '/' }, 'node "my games/src/cli/dormouse.js"'],
  ];
  for (const [start, expected] of ways) t.is(callOf(start), expected, JSON.stringify(start));
});

test('a command from a hint starts the same program from any folder', async (t) => {
  const { home } = await newProgram(t);
  await symlink(BIN, join(home, 'dormouse'));
  const said = async (command: string, cwd: string, env = {}) => {
    const PATH = `${process.env['PATH'] ?? ''}:${home}`;
    const options = { cwd, shell: true, env: { PATH, HOME: home, ...env } };
    const { stdout } = await promisify(execFile)(`${command} --help`, options);
    return /^Usage: (.*) <command>/m.exec(stdout)?.[1] ?? '';
  };
  const elsewhere = await said(`${process.execPath} ${BIN}`, home);
  t.is(elsewhere, `node ${BIN}`);
  t.is(await said(elsewhere, home), elsewhere);
  t.is(await said('dormouse', ROOT), 'dormouse');
  t.is(await said('./dormouse', home, { PATH: process.env['PATH'] }), './dormouse');
  // npx sets this variable.
  const npx = { npm_command: 'exec' };
  t.is(await said(join(ROOT, 'node_modules/.bin/dormouse'), ROOT, npx), 'npx dormouse');
});
