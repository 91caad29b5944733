import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import test from 'ava';
import { SECTIONS, commands } from '../../src/cli/commands.ts';
import { completion } from '../../src/cli/commands/completion.ts';
import { columns, duration, memory, relative, table } from '../../src/cli/format.ts';
import { eventData, localUrl } from '../../src/cli/http.ts';
import { Tail, withoutSeen } from '../../src/cli/log.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { type Messages, SERVER, read } from '../../src/cli/shapes.ts';
import { credentialsFile, loadCredentials } from '../../src/cli/stored.ts';
import { secretLine } from '../../src/cli/terminal.ts';
import { cut, logLine, printable, width } from '../../src/cli/text.ts';
import {
  anything,
  array,
  assert,
  asyncProperty,
  constantFrom,
  nat,
  oneof,
  property,
  string,
  uniqueArray,
} from '../support/property.ts';

const run = promisify(execFile);

test('relative times, durations and memory sizes are formatted for people', (t) => {
  const now = Date.parse('2026-11-20T12:00:00Z');
  const at = (seconds: number) => relative(new Date(now + seconds * 1000).toISOString(), now);
  t.is(at(0), 'just now');
  t.is(at(-2), '2 s ago');
  t.is(at(-59), '59 s ago');
  t.is(at(-60), '1 min ago');
  t.is(at(-3 * 60 - 59), '3 min ago');
  t.is(at(2 * 3600), 'in 2 h');
  t.is(at(-86_400), '1 day ago');
  t.is(at(-86_400 * 5), '5 days ago');
  t.is(relative('', now), '');
  t.is(relative('nonsense', now), '');
  t.is(duration(0), '0 s');
  t.deepEqual([memory(512), memory(1024), memory(1536), memory(20_000)], ['512 MB', '1 GB', '1.5 GB', '19.5 GB']);
});

test('loading keys without a home folder returns no keys instead of failing', async (t) => {
  const file = credentialsFile({}, () => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  t.deepEqual(await loadCredentials(file), { current: '', keys: {} });
});

test('the command line derives the service URL from the .env of the current folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'cli-env-'));
  t.teardown(() => rm(folder, { recursive: true }));
  t.is(localUrl(folder, {}), 'http://localhost:8080');
  const cases: [string, NodeJS.Dict<string>, string][] = [
    ['HTTP_PORT=9090\n', {}, 'http://localhost:9090'],
    ['\ufeffHTTP_PORT=9090\r\nHTTP_HOST=0.0.0.0\r\n', {}, 'http://localhost:9090'],
    ['HTTP_PORT=9090\nHTTP_HOST=192.168.1.5\n', { HTTP_PORT: '9091' }, 'http://192.168.1.5:9091'],
    ['HTTP_HOST=fd00::5\n', {}, 'http://[fd00::5]:8080'],
    ['HTTP_PORT=9090\nBASE_URL=https://panel.example\n', {}, 'https://panel.example'],
    ['HTTP_PORT=0\nBASE_URL=\n', {}, 'http://localhost:8080'],
  ];
  for (const [text, env, url] of cases) {
    await writeFile(join(folder, '.env'), text);
    t.is(localUrl(folder, env), url, text);
    await writeFile(join(folder, '.env'), `\ufeff${text.replace(/^\ufeff/, '')}`, 'utf16le');
    t.is(localUrl(folder, env), url, `UTF-16: ${text}`);
  }
});

test('login with a key as an argument explains how to pass it, and does not repeat it', (t) => {
  const login = commands.find(({ name }) => name === 'login')!;
  for (const words of [['--key', 'dmk_secret'], ['--key=dmk_secret']]) {
    const error = t.throws(() => parseCommand(login, words));
    t.regex(error?.message ?? '', /login --key < FILE/);
    t.notRegex(error?.message ?? '', /dmk_secret/);
  }
});

test('table columns align for wide characters and colours, and empty columns are left out', (t) => {
  const rows = [
    ['日本', '', 'x'],
    ['🦔', '', 'y'],
    ['\u001b[32mgreen\u001b[39m', '', 'z'],
  ];
  t.deepEqual(table(['NAME', 'NONE', 'LAST'], rows), [
    'NAME   LAST',
    '日本   x',
    '🦔     y',
    '\u001b[32mgreen\u001b[39m  z',
  ]);
  t.is(width('é'.normalize('NFD')), 1);
  t.deepEqual(columns(['1', '22', '3', '4', '5'], 11), ['1   3  5', '22  4']);
  t.deepEqual(columns([], 80), []);
  t.is(cut('日本語', 5), '日本');
  t.is(cut('\u001b[31mred\u001b[0m', 2), 're');
  assert(
    property(array(string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 60 }), nat(100), (words, room) => {
      const clean = words.map(printable).map((word) => word.replace(/\s/g, ''));
      const widest = Math.max(0, ...clean.map(width));
      t.true(columns(clean, room).every((line) => width(line) <= Math.max(room, widest)));
    }),
  );
});

test('untrusted text is stripped of terminal control characters', (t) => {
  const hostile = array(
    oneof(
      string({ unit: 'binary' }),
      constantFrom('\u001b[2J', '\u001b]0;x\u0007', '\u009b1m', '\r', '\u001b[31m', '\u202e'),
    ),
  );
  assert(
    property(hostile, (parts) => {
      const text = parts.join('');
      t.notRegex(printable(text), /[^\P{Cc}\n\t]|\u202e/u);
      t.notRegex(withoutColours(logLine(text, true)), /[^\P{Cc}\n\t]|\u202e/u);
    }),
  );
  t.is(logLine('\u001b[31mred\u001b[0m \u001b[2K', true), '\u001b[31mred\u001b[0m \u001b[0m');
  t.is(logLine('\u001b[31mred\u001b[0m', false), 'red');
});

test('a reply of any shape is read into a complete record', (t) => {
  const server: Messages['Server'] = JSON.parse(JSON.stringify({ ...SERVER, id: 'lobby', bakedAt: null }));
  t.is(read(SERVER, server).id, 'lobby');
  t.deepEqual(read({ list: [{ n: 0 }] }, { list: [{ n: 1 }, null, { n: '2' }] } as never), {
    list: [{ n: 1 }, { n: 0 }, { n: 0 }],
  });
  assert(
    property(anything(), (value) => {
      const server = read(SERVER, value as never);
      t.deepEqual(Object.keys(server), Object.keys(SERVER));
      t.true(Object.entries(SERVER).every(([key, unset]) => typeof server[key as 'id'] === typeof unset));
    }),
  );
});

test('server-sent events are parsed whole, however the stream is split', async (t) => {
  const text =
    ': hello\n\ndata: one\n\ndata:two\r\n\r\n: ping\n\nevent: x\nid: 3\ndata: thrée\rdata: 🦔\r\rdata\n\ndata: cut off';
  const bytes = Buffer.from(text);
  await assert(
    asyncProperty(uniqueArray(nat(bytes.length), { maxLength: 20 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      t.deepEqual(await all(eventData(from(chunks))), ['one', 'two', 'thrée\n🦔', '']);
    }),
  );
  const endless = Array.from({ length: 20 }, () => Buffer.alloc(100_000, 'x'));
  await t.throwsAsync(all(eventData(from(endless))), { instanceOf: RangeError });
});

test('only the new lines of a replayed log are shown', async (t) => {
  await assert(
    asyncProperty(nat(80), nat(80), nat(80), async (given, overlap, more) => {
      // A single line that recurs in the log does not identify a position, so skip this case.
      const seen = given === 1 ? 0 : given;
      const log = Array.from({ length: 200 }, (_, n) => (n % 7 === 0 ? 'again' : `line ${n}`));
      const tail = new Tail();
      for (const line of log.slice(0, seen)) tail.note(line);
      const replay = log.slice(Math.max(0, seen - overlap), seen + more);
      const shown = await all(withoutSeen(from(replay), tail));
      t.deepEqual(shown, seen > 0 && overlap === 0 ? replay : log.slice(seen, seen + more));
    }),
    { numRuns: 300 },
  );
});

test('shell completions include every command and option', async (t) => {
  const [bash, zsh, fish] = ['bash', 'zsh', 'fish'].map((shell) => scriptFor(shell));
  const complete = async (...words: string[]) => {
    const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
    const { stdout } = await run('bash', ['-c', `${bash}\n${line}; _dormouse; printf '%s\\n' "\${COMPREPLY[@]}"`]);
    return stdout.trim().split('\n');
  };
  t.deepEqual(await complete('dormouse', 'log'), ['login', 'logout', 'logs']);
  t.deepEqual(await complete('dormouse', 'create', '--m'), ['--motd']);
  t.true((await complete('dormouse', 'start', '')).includes('--wait'));
  t.true(zsh?.endsWith(bash ?? '-'));
  t.deepEqual(await complete('dormouse', 'backups', 're'), ['restore', 'retention']);
  t.deepEqual(await complete('dormouse', 'backups', 'download', '--f'), ['--force']);
  for (const { name, options = {} } of commands.slice(0, -1)) {
    const [subject = '', verb = ''] = name.split(' ');
    t.true(fish?.includes(` -a ${subject} `), name);
    t.true(verb === '' || fish?.includes(` -a ${verb} `), name);
    for (const option of Object.keys(options)) t.true(fish?.includes(` -l ${option} `), option);
  }
});

test('a secret is requested only after the terminal echo is off', async (t) => {
  const happened: string[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => happened.push(on ? 'hidden' : 'shown'),
  });
  const typed = secretLine(input, AbortSignal.timeout(60_000), () => {
    happened.push('asked');
    input.write('dmk_1\r');
  });
  t.is(await typed, 'dmk_1');
  t.deepEqual(happened, ['hidden', 'asked', 'shown']);
});

test('every command line either parses or is refused with exit code 2', (t) => {
  const word = oneof(string(), constantFrom('--', '-', '--json', '--url', '--url=', '-f', '--tail', 'lobby', '-h'));
  assert(
    property(constantFrom(...commands), array(word, { maxLength: 6 }), (command, words) => {
      try {
        const { args, values } = parseCommand(command, words);
        const needed = command.args.filter((each) => each.startsWith('<'));
        t.true(args.length >= needed.length || values.help === true);
      } catch (error) {
        t.is((error as { exitCode?: number }).exitCode, 2, String(error));
      }
    }),
    { numRuns: 1000 },
  );
});

async function* from<T>(values: T[]): AsyncGenerator<T> {
  yield* values;
}

function scriptFor(shell: string): string {
  let script = '';
  const out = { line: (text: string) => (script += text) };
  const context = { json: false, terminal: { out } } as unknown as Parameters<(typeof commands)[0]['run']>[0];
  void completion(SECTIONS.slice(0, -1)).run(context, [shell], {});
  return script;
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const seen = [];
  for await (const line of lines) seen.push(line);
  return seen;
}

function withoutColours(text: string): string {
  return text.replaceAll('\u001b', '␛').replace(/␛\[[\d;]*m/g, '');
}
