import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { SFTPWrapper } from 'ssh2';
import { connect, openSftp } from '../sftp/support.ts';
import { type Answer, type ApiUnderTest, api } from '../support/api-harness.ts';
import { chance } from '../support/random.ts';
import { plant } from '../support/tree.ts';
import { turns } from '../support/turns.ts';
import { isThorough } from '../support/needs.ts';

const LOBBY = '/v1/servers/lobby';
/** The steps of a restore. The backup before it has steps of its own. */
const STEPS = new Set(['asked', 'extracted', 'staged', 'cleared', 'swapped', 'noted', 'cleaned']);

interface Bench extends ApiUnderTest {
  root: string;
  backup: string;
  restore: (id?: string) => Promise<Answer>;
}

/** A sleeping server with a backup and an SFTP password; `at` is called at each step of a restore. */
async function bench(t: ExecutionContext, at: (step: string) => Promise<void>): Promise<Bench> {
  const release = (id: string): Promise<void> => it.sftp.cut(id);
  const it: ApiUnderTest = await api(t, { world: { room: { at, release } } });
  await it.sftp.listen('127.0.0.1', 0);
  await it.create('lobby', { type: 'fabric', version: '1.21.1' });
  const root = join(it.dataDir, 'servers/lobby');
  await plant(root, { 'world/level.dat': 'level', 'second/level.dat': 'level', 'ops.json': '[]', 'in.tar': '' });
  const backup = (await it.ok('POST', `${LOBBY}/backups`))['id'] as string;
  await it.services.backups.finished({ serverId: 'lobby', id: backup }, new AbortController().signal);
  const restore = (id = backup) => it.call('POST', `${LOBBY}/backups/${id}:restore`);
  return { ...it, root, backup, restore };
}

async function sftpOf(t: ExecutionContext, it: Bench): Promise<SFTPWrapper> {
  const { username, password } = await it.ok('POST', `${LOBBY}/sftp:enable`);
  const login = { username: username as string, password: password as string };
  return openSftp(await connect(t, { port: it.sftp.port, login }));
}

/** Every call that changes files in the server's folder. */
const CHANGES: [path: string, body: unknown][] = [
  ['/file', { path: 'late.txt', content: 'eA==' }],
  ['/file:upload?path=late.txt', undefined],
  ['/file:copy', { from: 'ops.json', to: 'late.json' }],
  ['/file:rename', { from: 'ops.json', to: 'late.json' }],
  ['/file:delete', { path: 'ops.json' }],
  ['/file:mkdir', { path: 'late' }],
  ['/file:archive', { paths: ['ops.json'], to: 'late.zip' }],
  ['/file:extract', { path: 'in.tar', to: 'late' }],
  ['/mods', { projectId: 'lithium' }],
  ['/mods:remove', { projectId: 'lithium' }],
  ['/mods:update', {}],
  ['/worlds:setActive', { name: 'second' }],
  ['/worlds:delete', { name: 'second' }],
  ['/worlds:reset', {}],
  ['/players:setWhitelistEnforced', { enforced: true }],
  ['/players:setWhitelist', { name: 'Steve', allowed: true }],
  ['/players:setBan', { name: 'Steve', banned: true }],
  ['/players:setIpBan', { ip: '203.0.113.7', banned: true }],
  ['/players:setOp', { name: 'Steve', op: true }],
  [':setProperties', { properties: { 'level-name': 'second' } }],
  ['/backups/previous:restore', {}],
];

test('a restore refuses every API write to the folder from its acceptance on, and allows reads', async (t) => {
  const told: string[] = [];
  const it = await bench(t, async (step) => {
    if (!STEPS.has(step)) return;
    for (const [path, body] of CHANGES) {
      if (path.startsWith('/backups/previous') && !['noted', 'cleaned'].includes(step)) continue;
      const raw = path.includes(':upload') ? { raw: 'x' } : {};
      const { status, reason } = await it.call('POST', LOBBY + path, { body, ...raw });
      if (status !== 409 || reason !== 'OPERATION_IN_PROGRESS') told.push(`${step}: ${path}: ${status} ${reason}`);
    }
    for (const path of ['/files', '/players', '/worlds', '/mods']) {
      const { status } = await it.call('GET', LOBBY + path);
      if (status !== 200) told.push(`${step}: GET ${path}: ${status}`);
    }
  });
  const answer = await it.restore();
  t.is(answer.status, 200, answer.text);
  t.deepEqual(told, []);
  t.deepEqual((await readdir(it.root)).sort(), ['in.tar', 'ops.json', 'second', 'world']);
  t.is((await it.call('POST', `${LOBBY}/file`, { body: { path: 'after', content: '' } })).status, 200);
});

test('an open SFTP session cannot change files during a restore, even through an open handle', async (t) => {
  let sftp: SFTPWrapper | undefined;
  const said: string[] = [];
  const say = (what: string, work: (done: (error?: Error | null) => void) => void) =>
    promisify(work)().then(
      () => void said.push(`${what} was done`),
      (error: Error) => void said.push(error.message),
    );
  const it = await bench(t, async (step) => {
    if (step !== 'extracted' || !sftp) return;
    const session = sftp;
    await say('write', (done) => session.write(handle, Buffer.from('x'), 0, 1, 0, done));
    await say('mkdir', (done) => session.mkdir('late', done));
    await say('open', (done) => session.open('late.txt', 'w', done));
    await say('rename', (done) => session.rename('ops.json', 'late.json', done));
    await say('unlink', (done) => session.unlink('ops.json', done));
    await say('setstat', (done) => session.setstat('ops.json', { size: 0 }, done));
    await promisify((done: (error: unknown, value: unknown) => void) => session.readdir('/', done))();
  });
  sftp = await sftpOf(t, it);
  const handle = await new Promise<Buffer>((resolve, reject) =>
    sftp.open('open.txt', 'w', (error, value) => (error ? reject(error) : resolve(value))),
  );
  t.is((await it.restore()).status, 200);
  t.is(said.length, 6);
  for (const each of said) t.regex(each, /^Wait until backup\.restore has ended/);
  t.deepEqual((await readdir(it.root)).sort(), ['in.tar', 'ops.json', 'second', 'world']);
});

test.runIf(isThorough)(
  'every write acknowledged around restores is in the server’s folder, the previous folder or a backup',
  async (t) => {
    const dice = chance(t);
    const it = await bench(t, () => turns(dice() * 20));
    // The first restore creates `previous`. Later restores back up the changes made since.
    t.is((await it.restore()).status, 200);
    const written = new Map<string, string>();
    const enough = new AbortController();
    let n = 0;
    async function write(): Promise<void> {
      while (!enough.signal.aborted) {
        const name = `late-${n++}`;
        const began = performance.now();
        const upload = dice() < 0.5;
        const { status, reason } = upload
          ? await it.call('POST', `${LOBBY}/file:upload?path=${name}`, { raw: name })
          : await it.call('POST', `${LOBBY}/file`, { body: { path: name, content: '' } });
        if (status === 200) written.set(name, `${began} to ${performance.now()}`);
        else if (reason !== 'OPERATION_IN_PROGRESS' && reason !== 'FILES_REPLACED')
          throw new Error(`${status} ${reason}`);
        // Yield now and then, so that the restore makes progress.
        else await turns(dice() * 20);
      }
    }
    const writers = Array.from({ length: 3 }, write);
    const kept = new Set<string>();
    for (let round = 0; round < 4; round++) {
      for (const least = written.size + 5; written.size < least;) await turns(1 + dice() * 50);
      const answer = await it.restore();
      if (answer.status !== 200) throw new Error(answer.text);
    }
    enough.abort();
    await Promise.all(writers);
    const see = async (root: string) => {
      for (const name of await readdir(root).catch(() => [])) kept.add(name);
    };
    await see(it.root);
    await see(`${it.root}.previous`);
    // Restore each safety backup to see its files.
    const { backups } = (await it.ok('GET', `${LOBBY}/backups`)) as { backups: { id: string; kind: string }[] };
    for (const { id, kind } of backups) {
      if (kind !== 'restore') continue;
      t.is((await it.restore(id)).status, 200);
      await see(it.root);
    }
    const lost = [...written].filter(([name]) => !kept.has(name));
    t.true(written.size >= 20, `only ${written.size} files were written`);
    t.deepEqual(lost, []);
  },
);

test('a change in flight when a restore is accepted finishes first or is refused whole', async (t) => {
  const it = await bench(t, async () => {});
  await mkdir(join(it.root, 'many'));
  for (let n = 0; n < 300; n++) await writeFile(join(it.root, 'many', String(n)), '');
  const [removed, restored] = await Promise.all([
    it.call('POST', `${LOBBY}/file:delete`, { body: { path: 'many' } }),
    it.restore(),
  ]);
  t.is(restored.status, 200);
  const previous = await readdir(`${it.root}.previous`);
  if (removed.status === 200) t.false(previous.includes('many'));
  else t.is((await readdir(join(`${it.root}.previous`, 'many'))).length, 300, 'a refused deletion removes no file');
  t.is(await readFile(join(it.root, 'ops.json'), 'utf8'), '[]');
});
