import test from 'ava';
import { areAccountsForwarded } from '../../src/game/players/forwarding.ts';

const PAPER = 'config/paper-global.yml';
const velocity = (enabled: string, more = '') => ({
  [PAPER]: `_version: 29\nproxies:\n  bungee-cord:\n    online-mode: true\n  velocity:\n    enabled: ${enabled}\n${more}`,
});
const spigot = { 'spigot.yml': 'settings:\r\n  debug: false\r\n  bungeecord: true\r\n' };
const bungee = (path: string, yaml: string) => ({ ...spigot, [path]: yaml });

const CASES: [title: string, files: Record<string, string>, forwarded: boolean][] = [
  ['no files', {}, false],
  ['Velocity', velocity('true'), true],
  ['Velocity with comments and quotes', velocity("'true' # on", '    online-mode: "true"\n'), true],
  ['Velocity switched off', velocity('false', '    online-mode: true\n'), false],
  ['Velocity without accounts', velocity('true', '    secret: a\n    online-mode: false\n'), false],
  ['Velocity before 1.19', { 'paper.yml': 'settings:\n  velocity-support:\n    enabled: true\n' }, true],
  ['another plugin’s switch', { [PAPER]: 'other:\n  velocity:\n    enabled: true\n' }, false],
  ['BungeeCord', spigot, true],
  ['BungeeCord without accounts', bungee(PAPER, 'proxies:\n  bungee-cord:\n    online-mode: false\n'), false],
  ['BungeeCord without accounts before 1.19', bungee('paper.yml', 'settings:\n  bungee-online-mode: false\n'), false],
  ['no YAML', { [PAPER]: '\0[{:', 'spigot.yml': '- bungeecord: true' }, false],
];

for (const [title, files, forwarded] of CASES)
  test(`${forwarded ? 'accounts are' : 'no accounts are'} forwarded to the game: ${title}`, async (t) => {
    t.is(await areAccountsForwarded(async (path) => files[path] ?? ''), forwarded);
  });
