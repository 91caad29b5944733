import test from 'ava';
import { logLevel, logPieces } from '../../src/web/assets/log-line.js';

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
