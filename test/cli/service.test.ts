import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { type ServerRecord, type Service, startService } from '../support/service.ts';
import { type Program, newProgram } from './program.ts';

const SLOW_START = { SANDBOX_FAULTS: 'START_MS=6000' };

/** Starts a service and signs the program in with the operator's key. */
async function signedIn(t: ExecutionContext, env: Record<string, string> = {}): Promise<[Service, Program]> {
  const program = await newProgram(t);
  const service = await startService(t, env);
  const { code, err } = await program.run(['login', '--key', '--url', service.baseUrl], { input: service.apiKey });
  t.is(code, 0, err);
  return [service, program];
}

test("the commands cover a server's life from creation to deletion, with output for people", async (t) => {
  const [service, program] = await signedIn(t);
  const says = async (args: string[], pattern: RegExp, input = '') => {
    const { code, out, err } = await program.run(args, { input });
    t.is(code, 0, `${args.join(' ')}: ${err}`);
    t.regex(out, pattern, args.join(' '));
    t.false((out + err).includes(service.apiKey));
    t.false((out + err).includes('\u001b'), 'no colours without a terminal');
  };
  const address = `localhost:${service.playersPort}`;

  await says(['whoami'], new RegExp(`e-mail +operator@localhost.*\naccount +acc_\\w+\nservice +${service.baseUrl}\n`));
  await says(['eula'], /have not agreed to Minecraft's EULA\. Read https:\/\/aka\.ms\/MinecraftEULA/);
  await says(['servers'], /No servers yet.*dormouse create/);
  await says(['versions'], /^\d+\.\d+\S*\n(?:\S+\n)+$/);
  await says(['keys'], new RegExp(`${service.baseUrl}/profile/keys\n`));
  await says(
    ['invite', 'steve@example.org'],
    /^steve@example\.org can create an account\. The service sends no e-mail[^]*\n {2}http:\S+\/sign-up\?invitation=[\w-]{43}\n$/,
  );
  const options = ['--type', 'sandbox', '--version', '1.20.4', '--ram', '0.25G', '--motd', 'Hi there', '--property'];
  await says(
    ['create', 'Lobby', ...options, 'difficulty=hard', '--property=pvp=false'],
    /^Created lobby: sandbox 1.20.4, 256 MB\./,
  );
  const created = await service.call<Record<string, unknown>>('GET', '/v1/servers/lobby');
  t.like(created, { ramMb: 256, motd: 'Hi there', properties: { difficulty: 'hard', pvp: 'false' } });

  await says(
    ['servers'],
    new RegExp(`^ID +NAME +STATE +VERSION +ADDRESS\nlobby +Lobby +asleep +sandbox 1.20.4 +${address}\n$`),
  );
  await says(['start', 'lobby', '--wait'], new RegExp(`^lobby is running\\. Join it at ${address}\n$`));
  await says(['start', 'lobby'], /lobby is running/);
  await says(['command', 'lobby', 'say', '-hello', 'there'], /^$/);
  await says(['command', 'lobby', '/list'], /players online/);
  await says(['logs', 'lobby', '--tail', '5'], /\[Rcon\] -hello there\n/);
  await says(
    ['machine', 'lobby'],
    /^state +running, entered .*\ncommands +.*STOP.*\n[^]*WHEN +EVENT +TRANSITION +CAUSE\n.*BOOT_DONE +starting → running +key_\w+ .*\n.*START +asleep → starting/,
  );
  await says(['restart', 'lobby', '--wait'], /lobby is running/);
  t.regex((await program.run(['stop', 'lobby', '--warn', 'soon'])).err, /--warn must look like 30s/);
  await says(['stop', 'lobby', '--wait', '--warn', '30s'], /^lobby is asleep\./);
  await says(['stop', 'lobby'], /^lobby is asleep\./);
  await says(['create', 'Castle', '--type', 'paper', '--version', '1.21.8', '--accept-eula'], /^Created castle/);
  await says(['eula'], /^You have agreed to Minecraft's EULA/);
  await says(['delete', 'lobby'], /^Deleted lobby\./, 'lobby\n');
  await says(['logout'], /Signed out/);
  t.like(await program.run(['servers']), { code: 3 });
});

test('the commands cover a server’s life with --json, one document each', async (t) => {
  const [service, program] = await signedIn(t, { SANDBOX_FAULTS: 'START_MS=2000' });
  const json: Program['json'] = (...args) => program.json(...args);
  t.deepEqual(await json('whoami'), await service.call('GET', '/v1/whoami'));
  t.deepEqual(await json('versions'), await service.call('GET', '/v1/minecraft/versions'));
  t.deepEqual(await json('keys'), { url: `${service.baseUrl}/profile/keys` });
  t.like(await json('create', 'Lobby', '--ram', '256'), { id: 'lobby', state: 'hibernated' });
  t.deepEqual(await json('servers'), await service.call('GET', '/v1/servers'));
  t.like(await json('start', 'lobby'), { state: 'starting' });
  t.like(await json('kill', 'lobby'), { id: 'lobby' });
  await service.reach('lobby', 'hibernated');
  t.like(await json('start', 'lobby', '--wait'), { state: 'running' });
  t.regex((await json<{ output: string }>('command', 'lobby', 'list')).output, /players online/);
  t.true((await json<{ lines: string[] }>('logs', 'lobby', '-n', '3')).lines.length === 3);
  t.like(await json('machine', 'lobby'), { state: 'running' });
  t.like(await json('restart', 'lobby'), { id: 'lobby' });
  await service.reach('lobby', 'running');
  t.like(await json('stop', 'lobby', '--wait'), { state: 'hibernated' });
  t.deepEqual(await json('delete', 'lobby', '--yes'), {});
  t.regex((await json<{ script: string }>('completion', 'bash')).script, /_dormouse/);
  t.deepEqual(await json('logout'), { url: service.baseUrl, forgotten: true });
});

test('a refused command explains the reason and exits with 1', async (t) => {
  const [service, program] = await signedIn(t);
  const refused = async (args: string[], pattern: RegExp, input = '') => {
    const human = await program.run(args, { input });
    t.is(human.code, 1, human.out + human.err);
    t.is(human.out, '');
    t.regex(human.err, pattern);
    const { code, out, err } = await program.run([...args, '--json'], { input });
    t.deepEqual([code, out], [1, '']);
    return (
      err.slice(err.indexOf('{')) && (JSON.parse(err.slice(err.indexOf('{'))) as { code: number; message: string })
    );
  };
  t.like(
    await refused(
      ['start', 'nobody'],
      /^dormouse: There is no such server\.\n {2}List your servers with: npx dormouse servers\n {2}Answered by http:\/\/127\.0\.0\.1:\d+\.\n$/,
    ),
    { code: 5 },
  );
  t.like(await refused(['logs', 'nobody'], /no such server/), { code: 5 });
  t.like(await refused(['logs', 'nobody', '-f'], /no such server/), { code: 5 });
  t.like(await refused(['delete', 'nobody'], /no such server/), { code: 5 });
  t.like(
    await refused(
      ['create', 'x', '--type', 'nope', '--ram', '1M'],
      /refused the request:\n  type +must be one of .*\n[^]*  ramMb +must be at least/,
    ),
    { code: 3 },
  );
  await service.create('asleep', '1.20.4');
  t.like(await refused(['command', 'asleep', 'list'], /Start the server/), { code: 9 });
  t.like(await refused(['restart', 'asleep'], /./), { code: 9 });
  t.like(await refused(['delete', 'asleep'], /server was not deleted/, 'no\n'), { code: 9 });
  t.like(await refused(['delete', 'asleep'], /server was not deleted/), { code: 9 });
  await service.create('castle', '1.21.8', { type: 'paper', ramMb: 1_024 });
  t.like(await refused(['start', 'castle'], /\(EULA, http[^]*The owner can accept it: npx dormouse eula --accept/), {
    code: 9,
  });
  t.like(await service.call('GET', '/v1/servers/asleep'), { state: 'hibernated' });
});

test('a failed start reports its cause and a suggestion, and exits with 1', async (t) => {
  const [service, program] = await signedIn(t, { SANDBOX_FAULTS: 'OUT_OF_MEMORY=report,START_MS=1000' });
  await service.create('broken', '1.20.4');
  const { code, out, err } = await program.run(['start', 'broken', '--wait']);
  const server = await service.call<ServerRecord & { startErrorSuggestion: string }>('GET', '/v1/servers/broken');
  t.deepEqual([code, out], [1, '']);
  t.true(err.includes(`broken did not start: ${server.startErrorSummary}`), err);
  t.not(server.startErrorSuggestion, '');
  t.true(err.includes(server.startErrorSuggestion), err);
  t.regex((await program.run(['servers'])).out, /start failed[^]*\nbroken: .+\n$/);
});

test('start --wait shows the progress, and neither Ctrl-C nor a service outage interrupts the start', async (t) => {
  const [service, program] = await signedIn(t, SLOW_START);
  await service.create('slow', '1.20.4');
  const starting = program.start(['start', 'slow', '--wait']);
  await starting.says(/slow: generating world/);
  starting.child.kill('SIGINT');
  const { code, err } = await starting.ended;
  t.is(code, 130);
  t.regex(err, /slow continues starting/);
  await service.reach('slow', 'running');

  // The wait also outlasts a kill and restart of the service.
  t.is((await program.run(['stop', 'slow', '--wait'])).code, 0);
  const outlasting = program.start(['start', 'slow', '--wait']);
  await outlasting.says(/generating world/);
  await service.kill();
  await service.start();
  t.like(await outlasting.ended, { code: 0 });
});

test('logs --follow continues from a sleeping server to a running one', async (t) => {
  const [service, program] = await signedIn(t);
  await service.create('lobby', '1.20.4');
  const human = program.start(['logs', 'lobby', '--follow']);
  const machine = program.start(['logs', 'lobby', '-f', '--json', '--tail=0']);
  await human.says('lobby is asleep');
  await service.call('POST', '/v1/servers/lobby:start');
  await human.says(/\]: Done \(/);
  await service.reach('lobby', 'running');
  const { code, err } = await program.run(['command', 'lobby', 'say', 'marker-1']);
  t.is(code, 0, err);
  await Promise.all([human.says('[Rcon] marker-1'), machine.says('[Rcon] marker-1')]);
  human.child.kill('SIGINT');
  machine.child.kill('SIGTERM');
  const [seen, read] = await Promise.all([human.ended, machine.ended]);
  t.deepEqual([seen.code, read.code], [130, 143]);
  t.is(seen.out.split('marker-1').length, 2, 'each line is shown once');
  const lines = read.out.trimEnd().split('\n');
  t.true(lines.some((line) => (JSON.parse(line) as { line: string }).line.includes('marker-1')));

  // The reader of the output may close it early.
  const piped = program.start(['logs', 'lobby', '-f']);
  piped.child.stdout.destroy();
  await service.call('POST', '/v1/servers/lobby:stop');
  const [status] = (await once(piped.child, 'exit')) as [number];
  t.is(status, 0);
});
