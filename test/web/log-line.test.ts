import test from 'ava';
import { linePieces, logLevel, logPieces } from '../../src/web/assets/log-line.js';

test('a log line is split into coloured pieces, and terminal control codes are removed', (t) => {
  const E = '\u001B';
  t.deepEqual(logPieces('plain <b>text</b>'), [{ text: 'plain <b>text</b>', look: '' }]);
  t.deepEqual(logPieces(`${E}[32mgreen${E}[0m, ${E}[1;91mbold${E}[22m and ${E}[39mnot`), [
    { text: 'green', look: 'c2' },
    { text: ', ', look: '' },
    { text: 'bold', look: 'c9 strong' },
    { text: ' and ', look: 'c9' },
    { text: 'not', look: '' },
  ]);
  t.deepEqual(logPieces(`${E}[38;2;250;90;90mred ${E}[38;5;51maqua ${E}[38;5;3mgold${E}[K${E}[2J\u0007`), [
    { text: 'red ', look: 'c9' },
    { text: 'aqua ', look: 'c14' },
    { text: 'gold', look: 'c3' },
  ]);
  t.deepEqual(logPieces('§cred §lbold§r none'), [
    { text: 'red ', look: 'c9' },
    { text: 'bold', look: 'c9 strong' },
    { text: ' none', look: '' },
  ]);
  for (const odd of [`${E}[38m`, `${E}[38;5m`, `${E}[38;2;1m`, `${E}[;;m`, `${E}[9999999999m`, E, '§', ''])
    t.true(
      logPieces(`a${odd}b`)
        .map(({ text }) => text)
        .join('')
        .startsWith('a'),
      JSON.stringify(odd),
    );
});

test('the name of a player who speaks, joins or leaves is a piece of its own', (t) => {
  const names = (line: string) =>
    linePieces(line)
      .filter(({ isPlayer }) => isPlayer)
      .map(({ text }) => text);
  const at = '[12:00:00] [Server thread/INFO]: ';
  for (const [said, name] of [
    ['Steve joined the game', 'Steve'],
    ['.Alex left the game', '.Alex'],
    ['Steve lost connection: Disconnected', 'Steve'],
    ['Steve[/127.0.0.1:5000] logged in with entity id 1', 'Steve'],
    ['<Steve> Alex joined the game', 'Steve'],
    ['[Not Secure] <Steve> hello', 'Steve'],
    ['Nobody here joined the game', undefined],
    ['<a b> hello', undefined],
    ['<script>alert(1)</script> joined the game', undefined],
    ['', undefined],
  ] as const)
    t.deepEqual(names(`${at}${said}`), name === undefined ? [] : [name], said);
  t.deepEqual(linePieces(`[09:00 INFO]: \u001B[33mSteve joined the game\u001B[m`), [
    { text: '[09:00 INFO]: ', look: '' },
    { text: 'Steve', look: 'c3', isPlayer: true },
    { text: ' joined the game', look: 'c3' },
  ]);
  t.deepEqual(names('Steve joined the game'), [], 'a program may print anything');
});

test('warnings and errors are recognized in game log formats, and a stack trace has the level of an error', (t) => {
  const lines: [string, string][] = [
    ['[12:00:00] [Server thread/INFO]: Done', ''],
    ['[12:00:00] [Server thread/WARN]: Can’t keep up!', 'warn'],
    ['[12:00:00 WARN]: [Maps] slow', 'warn'],
    ['[12:00:00] [main/ERROR] [net.fabric/]: failed', 'error'],
    ['\tat java.base/java.lang.Thread.run(Thread.java:1)', 'error'],
    ['Caused by: java.io.IOException: gone', 'error'],
    ['\t... 12 more', 'error'],
    ['[12:00:00] [Server thread/INFO]: <Steve> [x/ERROR]: hello', ''],
    ['java.lang.IllegalStateException: no', 'error'],
    ['Error is what they say', ''],
    ['', ''],
  ];
  let before = '';
  for (const [line, level] of lines) t.is((before = logLevel(line, before)), level, line);
});
