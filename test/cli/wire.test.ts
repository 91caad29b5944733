import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '../support/service.ts';
import { runHere } from './in-process.ts';
import { newProgram, startStandIn } from './program.ts';

const SIGNED_IN = { DORMOUSE_KEY: 'dmk_secret' };
const ROOT = join(import.meta.dirname, '../..');

test('a missing or unknown command or a bad option exits with 2 and explains the usage', async (t) => {
  const program = await newProgram(t, 'http://127.0.0.1:9');
  const lines: [string[], RegExp][] = [
    [[], /Usage: npx dormouse <command>/],
    [['dance'], /no command "dance"/],
    [['start'], /start needs <id>/],
    [['start', 'a', 'b'], /Too many arguments/],
    [['start', 'a', '--fast'], /--fast/],
    [['--fast', 'start', 'a'], /--fast/],
    [['start', 'No/../Id'], /is not a server id/],
    [['delete', '..', '--yes'], /is not a server id/],
    [['logs', 'a', '--tail', 'x'], /--tail must be a whole number/],
    [['logs', 'a', '--tail', '1001'], /from 0 to 1000/],
    [['logs', 'a', '--tail'], /--tail/],
    [['machine', 'a', '--last=51'], /--last/],
    [['create', 'a', '--ram', '3'], /--ram 3 means 3 MB\. For GB, write --ram 3G\./],
    [['create', 'a', '--ram', 'lots'], /--ram/],
    [['create', 'a', '--property', 'novalue'], /--property/],
    [['command', 'a'], /needs <console command…>/],
    [['completion', 'tcsh'], /bash, zsh or fish/],
    [['whoami', '--url', 'ftp://x'], /http or https/],
    [['whoami', '--url', 'http://me:secret@x'], /without password/],
  ];
  await Promise.all(
    lines.map(async ([args, pattern]) => {
      const { code, out, err } = await program.run(args, { env: SIGNED_IN });
      t.deepEqual([code, out], [2, ''], args.join(' '));
      t.regex(err, pattern);
      t.notRegex(err, /secret@/);
    }),
  );
  const { code, err } = await program.run(['start', '--json']);
  t.is(code, 2);
  t.like(JSON.parse(err), { code: 3 });
});

test('help covers the program and every command, and --version prints the version', async (t) => {
  const program = await newProgram(t);
  const whole = await program.run(['--help']);
  t.like(whole, { code: 0, err: '' });
  const names = [...whole.out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
  t.true(names.length >= 16);
  t.true(whole.out.split('\n').every((line) => line.length <= 120));
  await Promise.all(
    names.map(async (name) => {
      const { code, out } = await runHere([name, '--help']);
      t.is(code, 0);
      t.regex(out, new RegExp(`Usage: npx dormouse ${name} [^]*--json`));
    }),
  );
  t.is((await program.run(['help', 'start'])).out, (await program.run(['start', '-h'])).out);
  t.regex((await program.run(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
});

test('an unreachable service, one that is not Dormouse, or an invalid key exits with 3 and advice', async (t) => {
  const program = await newProgram(t);
  const asked = async (url: string, pattern: RegExp) => {
    const { code, out, err } = await program.run(['servers', '--url', url], { env: SIGNED_IN });
    t.deepEqual([code, out], [3, ''], err);
    t.regex(err, pattern);
    t.notRegex(err, /secret/);
  };
  const elsewhere = await startStandIn(t, () => [200, { servers: [] }]);
  const answers: [[number, unknown, object?], RegExp][] = [
    [[200, '<h1>Hello</h1>'], /not a Dormouse service.*--url/],
    [[200, [1, 2]], /not a Dormouse service/],
    [[404, 'not here'], /not a Dormouse service/],
    [[502, '<h1>Bad Gateway</h1>'], /does not respond \(HTTP 502\)/],
    [[302, '', { location: elsewhere.url }], /redirects to/],
    [[401, { code: 16, message: 'This credential is not valid.', details: [] }], /key is not valid.*dormouse login/],
  ];
  for (const [answer, pattern] of answers) await asked((await startStandIn(t, () => answer)).url, pattern);
  await asked(`http://127.0.0.1:${await freePort()}`, /No service responds.*ECONNREFUSED/);
  const cut = await startStandIn(t, (_, response) => void response.socket?.destroy());
  await asked(cut.url, /No service responds/);
  t.deepEqual(elsewhere.asked, [], 'the key does not follow a redirect');

  const { code, out, err } = await program.run(['servers', '--json', '--url', cut.url], { env: SIGNED_IN });
  t.deepEqual([code, out], [3, '']);
  t.like(JSON.parse(err), { code: 14 });
});

test('text from the service cannot control the terminal', async (t) => {
  const evil = 'a\u001b]0;title\u0007\u001b[2Jb\rc\u202ed\u009b5n';
  const service = await startStandIn(t, ({ path }) => {
    if (path.startsWith('/v1/servers/x/logs')) return [200, { lines: [evil, '\u001b[31mred\u001b[0m'], cursor: 'c' }];
    if (path.endsWith(':command')) return [200, { output: `§cred §lbold${evil}` }];
    if (path.startsWith('/v1/servers/')) return [400, { code: 9, message: evil, details: [] }];
    return [200, { servers: [{ id: 'x', name: evil, state: evil, addr: evil }] }];
  });
  const program = await newProgram(t, service.url);
  for (const args of [['servers'], ['logs', 'x'], ['command', 'x', 'list'], ['start', 'x']]) {
    const { out, err } = await program.run(args, { env: SIGNED_IN });
    t.notRegex(out + err, /[^\P{Cc}\n]|\u202e/u, args[0]);
    t.regex(out + err, /a.*b.*c.*d/);
  }
  t.regex((await program.run(['command', 'x', 'list'], { env: SIGNED_IN })).out, /^red bold/);
});

test('a refusal shows its retry delay, and a service error shows its request id', async (t) => {
  const type = 'type.googleapis.com/google.rpc.';
  const service = await startStandIn(t, ({ path }) =>
    path === '/v1/whoami'
      ? [429, { code: 8, message: 'Slow down.', details: [] }, { 'retry-after': '7' }]
      : [500, { code: 13, message: 'Oh.', details: [{ '@type': `${type}RequestInfo`, requestId: 'r-1' }] }],
  );
  const program = await newProgram(t, service.url);
  t.is(
    (await program.run(['whoami'], { env: SIGNED_IN })).err,
    `dormouse: Slow down.\n  Try again in 7 s.\n  Answered by ${service.url}.\n`,
  );
  t.is(
    (await program.run(['servers'], { env: SIGNED_IN })).err,
    `dormouse: Oh.\n  Request id: r-1\n  Answered by ${service.url}.\n`,
  );
});

test('a console command is sent as written, without the program’s own options', async (t) => {
  const service = await startStandIn(t, () => [200, { output: '' }]);
  const program = await newProgram(t, service.url);
  const lines: [string[], string][] = [
    [['tp', 'Steve', '-10', '64', '-3'], 'tp Steve -10 64 -3'],
    [['list', '--json'], 'list'],
    [['say', '--what', '-f'], 'say --what -f'],
    [['--', 'say', '--json'], 'say --json'],
    [['say', '--url', service.url, 'hi'], 'say hi'],
  ];
  for (const [words, sent] of lines) {
    t.is((await program.run(['command', 'lobby', ...words], { env: SIGNED_IN })).code, 0);
    t.deepEqual(service.asked.at(-1)?.body, { command: sent });
  }
});

test('the servers command shows player counts and servers shared with the user', async (t) => {
  const server = { name: 'Lobby', state: 'running', type: 'paper', version: '1.21.8', addr: 'lobby.example.org' };
  const service = await startStandIn(t, ({ path }) =>
    path === '/v1/servers'
      ? [
          200,
          {
            servers: [
              { ...server, id: 'lobby' },
              { ...server, id: 'quiet', state: 'start_failed', startErrorSummary: 'No memory' },
            ],
          },
        ]
      : [
          200,
          {
            my: [{ id: 'lobby', playersOnline: 3 }, { id: 'quiet' }],
            shared: [
              { id: 'theirs', address: 'x.org', state: 'hibernated', type: 'fabric', version: '26.1', role: 'member' },
            ],
          },
        ],
  );
  const program = await newProgram(t, service.url);
  t.is(
    (await program.run(['servers'], { env: SIGNED_IN })).out,
    `ID      NAME   STATE         PLAYERS  VERSION       ADDRESS            ROLE
lobby   Lobby  running       3        paper 1.21.8  lobby.example.org
quiet   Lobby  start failed           paper 1.21.8  lobby.example.org
theirs         asleep                 fabric 26.1   x.org              member
quiet: No memory
`,
  );
});

test('logs --follow shows replayed lines once, hides comments, and reconnects when the stream breaks or ends', async (t) => {
  const lines = (...all: string[]) => `${all.map((line) => `data: ${line}\n\n`).join('')}: ping\n\n`;
  const streams: ((response: ServerResponse) => void)[] = [
    (response) => void response.end(lines('one', 'two')),
    (response) => {
      response.write(lines('one', 'two', 'three'), () => response.destroy());
    },
    (response) => {
      response.write(lines('zero', 'one', 'two', 'three'));
      setTimeout(() => response.write(`data: fo`), 600);
      setTimeout(() => response.write(`ur\r\n\r\n`), 700);
    },
  ];
  let opened = 0;
  const service = await startStandIn(t, ({ path }, response) => {
    if (!path.includes('/logs/stream')) return [200, { id: 'lobby', state: 'running' }];
    if (opened === 1 && service.asked.filter((each) => each.path.includes('stream')).length === 2) {
      return [429, { code: 8, message: 'Too many streams.', details: [] }];
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    streams[opened++]?.(response);
    return undefined;
  });
  const program = await newProgram(t, service.url);
  const following = program.start(['logs', 'lobby', '-f', '--tail', '7'], { env: SIGNED_IN });
  await following.says('four');
  following.child.kill('SIGINT');
  const { code, out, err } = await following.ended;
  t.deepEqual([code, out], [130, 'one\ntwo\nthree\nfour\n']);
  t.regex(err, /Connection lost/);
  t.is(service.asked[0]?.path, '/v1/servers/lobby/logs/stream?tail=7');
  t.true(service.asked.every(({ key }) => key === SIGNED_IN.DORMOUSE_KEY));
});

test('the events command resumes from the last event id after a lost connection', async (t) => {
  const frames = (...all: [number, object][]) =>
    all.map(([id, data]) => `id: ${id}\nevent: players\ndata: ${JSON.stringify(data)}\n\n`).join('');
  const service = await startStandIn(t, (_, response) => {
    if (service.asked.length === 3) return [404, { code: 5, message: 'There is no such server.', details: [] }];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const at = '2026-11-22T10:00:00.000Z';
    if (service.asked.length === 2) response.end(`: ping\n\n${frames([9, { at, online: 3 }])}`);
    else response.write(frames([7, { at, online: 1 }], [8, { at, online: 2 }]), () => response.destroy());
    return undefined;
  });
  const program = await newProgram(t, service.url);
  const { code, out, err } = await program.run(['events', 'lobby'], { env: SIGNED_IN });
  const line = (online: number) => `2026-11-22T10:00:00  players   online ${online}\n`;
  t.deepEqual([code, out], [1, [1, 2, 3].map(line).join('')]);
  t.regex(err, /Connection lost[^]*no such server/);
  t.deepEqual(
    service.asked.map(({ lastEventId }) => lastEventId),
    [undefined, '8', '9'],
  );
});

test('logs --follow waits while a server sleeps and ends when it is deleted', async (t) => {
  let state = 'hibernated';
  const service = await startStandIn(t, ({ path }, response) => {
    if (path.includes('/logs/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(state === 'hibernated' ? 'data: asleep\n\n' : 'data: asleep\n\ndata: awake\n\n');
      if (state === 'running') state = 'gone';
      return undefined;
    }
    if (state === 'gone') return [404, { code: 5, message: 'There is no such server.', details: [] }];
    return [200, { id: 'lobby', state }];
  });
  const program = await newProgram(t, service.url);
  const following = program.start(['logs', 'lobby', '-f'], { env: SIGNED_IN });
  await following.says('lobby is asleep');
  state = 'running';
  const { code, out, err } = await following.ended;
  t.deepEqual([code, out], [1, 'asleep\nawake\n']);
  t.regex(err, /no such server/);
});

test('logs --follow falls back to cursor polling without a stream, and survives an outage', async (t) => {
  let turn = 0;
  const service = await startStandIn(t, ({ path }) => {
    if (path.includes('/stream')) return [404, { code: 5, message: 'Nothing at this address.', details: [] }];
    turn++;
    if (turn === 2) return [503, { code: 14, message: 'Busy.', details: [] }];
    return [200, { lines: [`line ${turn}`], cursor: `c${turn}`, containerMissing: false }];
  });
  const program = await newProgram(t, service.url);
  const following = program.start(['logs', 'lobby', '-f', '-n', '5'], { env: SIGNED_IN });
  await following.says('line 4');
  following.child.kill('SIGTERM');
  const { code, out } = await following.ended;
  t.is(code, 143);
  t.regex(out, /^line 1\nline 3\nline 4\n/);
  const paths = service.asked.map(({ path }) => path.replace('/v1/servers/lobby/logs', ''));
  t.deepEqual(paths.slice(1, 5), ['?tail=5', '?cursor=c1&tail=1000', '?cursor=c1&tail=1000', '?cursor=c3&tail=1000']);
});

test('the npx entry point finds a suitable Node, and passes on signals and exit codes', async (t) => {
  const bin = join(ROOT, 'src/cli/dormouse.js');
  // Makes this Node report an old version.
  const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.0'}})`;
  const service = await startStandIn(t, () => [200, { id: 'lobby', state: 'starting' }]);
  const program = await newProgram(t, service.url);
  for (const argv of [[bin], ['--import', old, bin]]) {
    t.like(await program.run(['--version'], { argv }), { code: 0, err: '' });
    t.like(await program.run(['dance'], { argv }), { code: 2, out: '' });
    const starting = program.start(['start', 'lobby', '--wait'], { argv, env: SIGNED_IN });
    await starting.says('lobby: starting');
    starting.child.kill('SIGINT');
    const [[code]] = await Promise.all([
      once(starting.child, 'exit') as Promise<[number]>,
      starting.says('continues starting'),
    ]);
    t.is(code, 130);
  }
});
