import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { onTerminal, visible } from './on-terminal.ts';
import { newProgram, startStandIn } from './program.ts';

/** A service with one sleeping server. After its start, the server logs a line and answers commands. */
function stand(t: Parameters<typeof startStandIn>[0]) {
  let state = 'hibernated';
  return startStandIn(t, ({ path, body }, response) => {
    if (path.includes('/logs/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (state === 'hibernated') response.end('data: Saved the game\n\n');
      else response.write('data: Saved the game\n\ndata: \u001b[32mDone\u001b[0m\n\n');
      return undefined;
    }
    if (path.endsWith(':start')) state = 'running';
    if (!path.endsWith(':command')) return [200, { id: 'castle', state }];
    if (state !== 'running') return [400, { code: 9, message: 'Start the server first.', details: [] }];
    return [200, { output: `§aran§r ${(body as { command: string }).command}` }];
  });
}

test('the console keeps its input line below the log, starts the server, remembers commands, and exits on Ctrl-C', async (t) => {
  const service = await stand(t);
  const { home } = await newProgram(t);
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, 'config'), DORMOUSE_URL: service.url, DORMOUSE_KEY: 'dmk_x' };
  const console = await onTerminal(t, env, 'console', 'castle');
  if (!console) return;
  const { stdin } = console.child;
  await console.says('Saved the game');
  await console.says('castle is asleep. Type start to wake it');
  stdin.write('list\r');
  await console.says('Start the server first.');
  // A log line arrives while half a command is typed.
  stdin.write('start\r');
  await console.says('castle is waking');
  stdin.write('hal');
  await console.says(/Done/);
  stdin.write('lo\r');
  await console.says('hallo');
  await console.says(/ran.* hallo/);
  stdin.write(' secret\r');
  await console.says(/ran.* secret/);
  stdin.write('\u0003');
  const { code, out } = await console.ended;
  t.is(code, 0, out);
  const shown = visible(out);
  t.regex(shown, /␛\[32mDone␛\[0m/, 'colours of the log are kept');
  t.regex(shown, /␛\[92mran␛\[0m hallo/, 'colours of replies are kept');
  t.is(shown.split('Saved the game').length, 2, 'shown lines are not repeated');
  const sent = service.asked
    .filter(({ method }) => method === 'POST')
    .map(({ path, body }) => [path.split(':')[1], body]);
  t.deepEqual(sent, [
    ['command', { command: 'list' }],
    ['start', {}],
    ['command', { command: 'hallo' }],
    ['command', { command: 'secret' }],
  ]);
  const file = join(home, 'config/dormouse/console-history.json');
  t.deepEqual(JSON.parse(await readFile(file, 'utf8')), ['hallo', 'start', 'list']);
  t.is((await stat(file)).mode & 0o777, 0o600);

  const again = await onTerminal(t, env, 'console', 'castle');
  await again?.says('castle>');
  again?.child.stdin.write('\u001b[A\r');
  await again?.says(/ran.* hallo/);
  again?.child.stdin.write('exit\r');
  t.is((await again?.ended)?.code, 0);
});

test('without a terminal the console runs its input until a command is refused, and say prints the reply', async (t) => {
  const service = await stand(t);
  const program = await newProgram(t, service.url);
  const run = (words: string[], input = '') => program.run(words, { input, env: { DORMOUSE_KEY: 'dmk_x' } });
  const asleep = await run(['console', 'castle'], 'list\nseed\n');
  t.deepEqual([asleep.code, asleep.out], [1, '']);
  t.regex(asleep.err, /Start the server first/);
  await run(['start', 'castle']);
  t.like(await run(['console', 'castle'], 'list\n\n  seed  \n'), { code: 0, out: 'ran list\nran seed\n', err: '' });
  t.is((await run(['console', 'castle', '--json'], 'list\n')).out, '{"command":"list","output":"§aran§r list"}\n');
  t.is((await run(['say', 'castle', 'Hello', '--there'])).out, 'ran say Hello --there\n');
});
