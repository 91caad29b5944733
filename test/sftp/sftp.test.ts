import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import ssh2, { type SFTPWrapper } from 'ssh2';
import type { Disk } from '../../src/jail/space.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { SFTP_LIMITS } from '../../src/sftp/limits.ts';
import { EXTENSIONS } from '../../src/sftp/requests.ts';
import { Fields, MOST_DATA_BYTES, OPEN, REPLY, REQUEST, STATUS, string, uint32, uint64 } from '../../src/sftp/wire.ts';
import { until } from '../support/until.ts';
import { type RawReply, raw } from './raw.ts';
import { type SftpUnderTest, connect, openChannel, openSftp, startSftp } from './support.ts';

const { STATUS_CODE } = ssh2.utils.sftp;
const MIB = 2 ** 20;

type Callback<T> = (error: Error | null | undefined, value: T) => void;

/** Calls a method of the client, and resolves with its result. */
function ask<T = unknown>(work: (done: Callback<T>) => void): Promise<T> {
  return promisify(work)();
}

/** Returns the status of the answer to a request. */
async function statusOf(work: (done: Callback<never>) => void): Promise<number> {
  return ask(work).then(
    () => STATUS_CODE.OK,
    (error: unknown) => (error as { code: number }).code,
  );
}

function put(sftp: SFTPWrapper, path: string, content: string | Buffer): Promise<void> {
  return ask((done) => sftp.writeFile(path, content, (error) => done(error, undefined)));
}

/** Opens a session by hand, and exchanges the greeting. */
async function byHand(t: ExecutionContext, it: SftpUnderTest) {
  const client = await connect(t, it);
  const channel = await openChannel(client);
  const { send, next, greet } = raw(channel);
  const greeting = await greet();
  /** Opens a file, and returns its handle. */
  async function open(path: string, flags: number): Promise<Buffer> {
    send(REQUEST.open, uint32(0), string(path), uint32(flags), uint32(0));
    const reply = await next();
    if (reply?.type !== REPLY.handle) throw new Error(`${path} was not opened`);
    return reply.rest;
  }
  return { client, channel, send, next, open, greeting };
}

function statusIn(reply: RawReply | undefined): number | undefined {
  return reply?.type === REPLY.status ? reply.rest.readUInt32BE() : undefined;
}

/** Creates a disk with this many bytes left. */
function quota(bytes: number): Disk & { left: number } {
  const disk = {
    left: bytes,
    async reserve(_serverId: string, wanted: number) {
      if (wanted > disk.left)
        throw new StatusError('RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED', 'Free disk space first.');
      disk.left -= wanted;
      return { grow: async () => {}, settle: (added: number) => void (disk.left += wanted - added) };
    },
    room: async () => ({ totalBytes: bytes, freeBytes: disk.left }),
    freed() {},
  };
  return disk;
}

/** Returns the paths below a folder that this process has open. */
function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}

test('cutting a server closes its sessions and open files, and leaves other servers alone', async (t) => {
  const it = await startSftp(t);
  const client = await connect(t, it);
  const sftp = await openSftp(client);
  await put(sftp, 'before', 'x');
  await it.sftp.cut('another');
  await put(sftp, 'between', 'x');
  t.is(it.sftp.sessions('lobby'), 1);
  const gone = new Promise<void>((resolve) => void client.once('close', () => resolve()));
  await it.sftp.cut('lobby');
  t.deepEqual(openBelow(it.root), []);
  await gone;
  t.true(await until(() => it.sftp.sessions('lobby') === 0));
  t.deepEqual(readdirSync(it.root).toSorted(), ['before', 'between']);
});

test('a sign-in in progress fails if the password changes meanwhile', async (t) => {
  let hold: (() => void) | undefined;
  const it = await startSftp(t);
  const query = it.store.query.bind(it.store);
  it.store.query = async <Row>(sql: string, parameters?: unknown[]) => {
    const rows = await query<Row>(sql, parameters);
    if (hold === undefined) await new Promise<void>((resolve) => (hold = resolve));
    return rows;
  };
  const attempt = connect(t, it);
  await until(() => hold !== undefined);
  await it.sftp.cut('lobby');
  hold?.();
  await t.throwsAsync(attempt);
  t.true(await until(() => it.sftp.sessions('lobby') === 0));
  await connect(t, it);
});

test('a server that is temporarily shut refuses SFTP sign-ins, and accepts them once it reopens', async (t) => {
  let closed = false;
  const it = await startSftp(t, { limits: { refusalDelayMs: 0 } });
  it.sftp.keepShut((serverId) => closed && serverId === 'lobby');
  await connect(t, it);
  closed = true;
  await it.sftp.cut('lobby');
  await t.throwsAsync(connect(t, it));
  t.true(await until(() => it.sftp.sessions('lobby') === 0));
  closed = false;
  await connect(t, it);
});

test('every spelling of a path resolves to one canonical path', async (t) => {
  const it = await startSftp(t);
  mkdirSync(join(it.root, 'world'));
  const sftp = await openSftp(await connect(t, it));
  const answers: Record<string, string> = {
    '.': '/',
    '': '/',
    '/': '/',
    '..': '/',
    '/..': '/',
    '/world/': '/world',
    '/world/.': '/world',
    'world/../world/.': '/world',
    '/not/yet/there': '/not/yet/there',
    '//world//': '/world',
  };
  for (const [path, answer] of Object.entries(answers))
    t.is(await ask((done) => sftp.realpath(path, done)), answer, path);
});

test('reads and writes work beyond 4 GiB, a read at the end returns EOF, and append mode ignores the offset', async (t) => {
  const it = await startSftp(t);
  const { send, next, open } = await byHand(t, it);
  const far = 10 * 2 ** 30;
  const handle = await open('far', OPEN.read | OPEN.write | OPEN.create);
  send(REQUEST.write, uint32(1), handle, uint64(far), string('end'));
  t.is(statusIn(await next()), STATUS.ok);
  t.is(statSync(join(it.root, 'far')).size, far + 3);
  send(REQUEST.read, uint32(2), handle, uint64(far), uint32(2 ** 32 - 1));
  t.deepEqual(new Fields((await next())!.rest).bytes().toString(), 'end');
  send(REQUEST.read, uint32(3), handle, uint64(far + 3), uint32(10));
  t.is(statusIn(await next()), STATUS.eof);

  writeFileSync(join(it.root, 'log'), 'one\n');
  const log = await open('log', OPEN.write | OPEN.append);
  for (const line of ['two\n', 'three\n']) {
    send(REQUEST.write, uint32(4), log, uint64(0), string(line));
    t.is(statusIn(await next()), STATUS.ok);
  }
  t.is(readFileSync(join(it.root, 'log'), 'utf8'), 'one\ntwo\nthree\n');
  send(REQUEST.read, uint32(5), log, uint64(0), uint32(10));
  t.is(statusIn(await next()), STATUS.permissionDenied);
});

test('df shows the server’s quota and its free part', async (t) => {
  const it = await startSftp(t, { disk: quota(MIB) });
  const { send, next } = await byHand(t, it);
  send(REQUEST.mkdir, uint32(1), string('a'), uint32(0));
  await next();
  send(REQUEST.extended, uint32(2), string('statvfs@openssh.com'), string('/'));
  const figures = new Fields((await next())!.rest);
  const [block, , blocks, free] = [figures.uint64(), figures.uint64(), figures.uint64(), figures.uint64()];
  t.deepEqual([block, blocks, free], [4_096, 256, 255]);
});

test('the OpenSSH extensions of SFTP are announced and work, and hard links are unsupported', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'from'), 'from');
  writeFileSync(join(it.root, 'to'), 'to');
  const { send, next, open, greeting } = await byHand(t, it);
  const announced = new Fields(greeting.rest);
  for (const [name, version] of Object.entries(EXTENSIONS))
    t.deepEqual([announced.text(), announced.text()], [name, version]);
  send(REQUEST.rename, uint32(1), string('from'), string('to'));
  t.is(statusIn(await next()), STATUS.failure);
  send(REQUEST.extended, uint32(2), string('posix-rename@openssh.com'), string('from'), string('to'));
  t.is(statusIn(await next()), STATUS.ok);
  t.is(readFileSync(join(it.root, 'to'), 'utf8'), 'from');
  send(REQUEST.extended, uint32(3), string('fsync@openssh.com'), await open('to', OPEN.write));
  t.is(statusIn(await next()), STATUS.ok);
  send(REQUEST.extended, uint32(4), string('limits@openssh.com'));
  const limits = new Fields((await next())!.rest);
  t.deepEqual([limits.uint64(), limits.uint64()], [256 * 1_024, MOST_DATA_BYTES]);
  send(REQUEST.extended, uint32(5), string('statvfs@openssh.com'), string('/'));
  t.is((await next())?.rest.length, 11 * 8);
  send(REQUEST.extended, uint32(6), string('hardlink@openssh.com'), string('to'), string('two'));
  t.is(statusIn(await next()), STATUS.unsupported);
});

test('an exclusive open fails on an existing file, and a read-only open creates the file only if asked', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'there'), 'x');
  const { send, next } = await byHand(t, it);
  const opened = async (path: string, flags: number) => {
    send(REQUEST.open, uint32(0), string(path), uint32(flags), uint32(0));
    return statusIn(await next()) ?? 'opened';
  };
  const { read, write, create, exclusive, truncate } = OPEN;
  for (const way of [0, read, write, read | write, write | truncate]) {
    t.is(await opened('/there', way | create | exclusive), STATUS.failure, `${way}`);
  }
  t.is(await opened('/there', read | create), 'opened');
  t.is(readFileSync(join(it.root, 'there'), 'utf8'), 'x');
  t.is(await opened('/absent', read), STATUS.noSuchFile);
  t.is(await opened('/made', read | create | exclusive), 'opened', 'as POSIX: made, to be read');
  t.is(await opened('/made', read | create | exclusive), STATUS.failure);
  t.is(await opened('/too', read | create), 'opened');
  t.deepEqual([statSync(join(it.root, 'made')).size, statSync(join(it.root, 'too')).size], [0, 0]);
  t.is(await opened('/bin.sh/start.sh', read | create), STATUS.noSuchFile, 'no directories are made');
});

test('a listing ends with EOF, even if the client requests several parts at once', async (t) => {
  const it = await startSftp(t);
  for (let index = 0; index < 150; index++) writeFileSync(join(it.root, `f${index}`), '');
  const { send, next } = await byHand(t, it);
  send(REQUEST.opendir, uint32(1), string('/'));
  const handle = (await next())!.rest;
  for (let id = 2; id < 10; id++) send(REQUEST.readdir, uint32(id), handle);
  let entries = 0;
  let reply: RawReply | undefined;
  for (let id = 2; id < 10; id++) {
    reply = await next();
    t.is(reply?.id, id);
    if (reply?.type === REPLY.name) entries += reply.rest.readUInt32BE();
    else t.is(statusIn(reply), STATUS.eof);
  }
  t.is(statusIn(reply), STATUS.eof);
  t.is(entries, 150);
});

test('a session may hold only a limited number of open files, and its end closes them all', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'file'), 'x');
  const { client, send, next } = await byHand(t, it);
  const handles = new Set<string>();
  let refused = 0;
  for (let id = 1; id <= 10_000; id++) send(REQUEST.open, uint32(id), string('file'), uint32(OPEN.read), uint32(0));
  for (let id = 1; id <= 10_000; id++) {
    const reply = await next();
    if (reply?.type === REPLY.handle) handles.add(reply.rest.toString());
    else if (statusIn(reply) === STATUS.failure) refused++;
  }
  t.is(handles.size, SFTP_LIMITS.handles);
  t.is(refused, 10_000 - SFTP_LIMITS.handles);
  t.true(openBelow(it.root).length >= SFTP_LIMITS.handles);
  client.destroy();
  await until(() => openBelow(it.root).length === 0);
});

test('a handle works only in its own session, for its own kind, and until it is closed', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'file'), 'x');
  const { send, next, open } = await byHand(t, it);
  const other = await byHand(t, it);
  const handle = await open('file', OPEN.read);
  for (const wrong of [string('2'), string(''), string('../1'), string(Buffer.of(0, 255))]) {
    send(REQUEST.read, uint32(1), wrong, uint64(0), uint32(1));
    t.is(statusIn(await next()), STATUS.failure);
  }
  send(REQUEST.readdir, uint32(2), handle);
  t.is(statusIn(await next()), STATUS.failure);
  other.send(REQUEST.fstat, uint32(3), handle);
  t.is(statusIn(await other.next()), STATUS.failure);
  for (const status of [STATUS.ok, STATUS.failure]) {
    send(REQUEST.close, uint32(4), handle);
    t.is(statusIn(await next()), status);
  }
});

test('writes, resizes, directories and empty files beyond the quota are refused', async (t) => {
  const disk = quota(MIB);
  const it = await startSftp(t, { disk });
  const { send, next, open } = await byHand(t, it);
  const size = () => statSync(join(it.root, 'file')).size;
  const handle = await open('file', OPEN.write | OPEN.create);
  const block = Buffer.alloc(200_000);
  const statuses: (number | undefined)[] = [];
  for (let index = 0; index < 7; index++) {
    send(REQUEST.write, uint32(1), handle, uint64(index * block.length), string(block));
    statuses.push(statusIn(await next()));
  }
  t.deepEqual(statuses, [...Array<number>(5).fill(STATUS.ok), STATUS.failure, STATUS.failure]);
  t.is(size(), 1_000_000);
  // A hole, and a longer size as an attribute, through the handle and by the path.
  const bySize = [uint32(1), uint64(2 * MIB)];
  send(REQUEST.write, uint32(2), handle, uint64(2 ** 40), string('x'));
  send(REQUEST.fsetstat, uint32(3), handle, ...bySize);
  send(REQUEST.setstat, uint32(4), string('file'), ...bySize);
  for (let count = 0; count < 3; count++) t.is(statusIn(await next()), STATUS.failure);
  t.is(size(), 1_000_000);
  // Existing bytes may change, and the file may shrink.
  send(REQUEST.write, uint32(5), handle, uint64(0), string(block));
  send(REQUEST.fsetstat, uint32(6), handle, uint32(1), uint64(10));
  for (let count = 0; count < 2; count++) t.is(statusIn(await next()), STATUS.ok);
  t.is(size(), 10);
  t.is(disk.left, MIB - 245 * 4_096);
  // Directories and empty files take space, too.
  send(REQUEST.mkdir, uint32(7), string('a/b'), uint32(0));
  t.is(statusIn(await next()), STATUS.ok);
  t.is(disk.left, MIB - 247 * 4_096);
  await open('empty', OPEN.write | OPEN.create);
  await open('empty', OPEN.write | OPEN.create);
  t.is(disk.left, MIB - 248 * 4_096);
  disk.left = 4_095;
  send(REQUEST.mkdir, uint32(8), string('c'), uint32(0));
  t.is(statusIn(await next()), STATUS.failure);
  send(REQUEST.open, uint32(9), string('more'), uint32(OPEN.write | OPEN.create), uint32(0));
  t.is(statusIn(await next()), STATUS.failure);
  t.deepEqual(readdirSync(it.root).toSorted(), ['a', 'empty', 'file']);
});

test('a sparse file within the quota is filled only as far as the machine has free space', async (t) => {
  const full = new StatusError('RESOURCE_EXHAUSTED', 'DISK_FULL', 'There is no room.');
  let left = 100_000;
  const disk: Disk = {
    ...quota(10 * MIB),
    requireFree: async (bytes) => {
      if ((left -= bytes) < 0) throw full;
    },
  };
  const it = await startSftp(t, { disk });
  const { send, next, open } = await byHand(t, it);
  const handle = await open('file', OPEN.write | OPEN.create);
  send(REQUEST.fsetstat, uint32(1), handle, uint32(1), uint64(5 * MIB));
  t.is(statusIn(await next()), STATUS.ok);
  const block = Buffer.alloc(40_960, 1);
  const statuses: (number | undefined)[] = [];
  for (let index = 0; index < 4; index++) {
    send(REQUEST.write, uint32(2), handle, uint64(index * MIB), string(block));
    statuses.push(statusIn(await next()));
  }
  t.deepEqual(statuses, [STATUS.ok, STATUS.ok, STATUS.failure, STATUS.failure]);
  t.true(statSync(join(it.root, 'file')).blocks * 512 < 3 * block.length);
});

test('space freed through one handle is charged again to another, and a removed file cannot grow', async (t) => {
  const disk = quota(MIB);
  const it = await startSftp(t, { disk });
  const one = await byHand(t, it);
  const two = await byHand(t, it);
  const statusAfter = async ({ send, next }: typeof one, ...request: [number, ...Buffer[]]) => {
    send(...request);
    return statusIn(await next());
  };
  const block = string(Buffer.alloc(200_000));
  const a = await one.open('file', OPEN.write | OPEN.create);
  const b = await two.open('file', OPEN.write);
  const write = async () => statusAfter(one, REQUEST.write, uint32(1), a, uint64(0), block);
  t.is(await write(), STATUS.ok);
  const left = disk.left;
  t.true(left <= MIB - 200_000);
  t.is(await statusAfter(two, REQUEST.fsetstat, uint32(2), b, uint32(1), uint64(0)), STATUS.ok);
  t.is(await write(), STATUS.ok);
  t.true(disk.left <= left - 195_000, 'what came back was asked for');
  // The file is emptied by its path, and then by an open.
  t.is(await statusAfter(two, REQUEST.setstat, uint32(3), string('file'), uint32(1), uint64(0)), STATUS.ok);
  t.is(await write(), STATUS.ok);
  await two.open('file', OPEN.write | OPEN.truncate);
  t.is(await write(), STATUS.ok);
  t.true(disk.left < 200_000 * 1.5);
  t.is(await statusAfter(two, REQUEST.setstat, uint32(3), string('file'), uint32(1), uint64(0)), STATUS.ok);
  t.is(await write(), STATUS.ok);
  t.is(await statusAfter(two, REQUEST.setstat, uint32(3), string('file'), uint32(1), uint64(0)), STATUS.ok);
  t.is(await write(), STATUS.failure);
  t.is(statSync(join(it.root, 'file')).size, 0);
  disk.left = MIB;
  t.is(await statusAfter(two, REQUEST.remove, uint32(4), string('file')), STATUS.ok);
  t.is(await write(), STATUS.failure);
});

test('symbolic links are never followed, read or created, and their targets stay unchanged', async (t) => {
  const it = await startSftp(t);
  const outside = join(it.folder, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'SECRET', { mode: 0o600 });
  writeFileSync(join(it.root, 'plain'), 'plain');
  symlinkSync(outside, join(it.root, 'dir'));
  symlinkSync(join(outside, 'secret'), join(it.root, 'file'));
  symlinkSync('loop', join(it.root, 'loop'));
  linkSync(join(outside, 'secret'), join(it.root, 'hard'));
  const before = statSync(join(outside, 'secret'));
  const sftp = await openSftp(await connect(t, it));

  for (const path of ['file', 'loop', 'dir', 'dir/secret', 'file/../dir/secret']) {
    t.not(await statusOf((done) => sftp.open(path, 'r', done as Callback<Buffer>)), 0, path);
    t.not(await statusOf((done) => sftp.open(path, 'w', done as Callback<Buffer>)), 0, path);
    t.not(await statusOf((done) => sftp.opendir(path, done as Callback<Buffer>)), 0, path);
    t.not(await statusOf((done) => sftp.setstat(path, { mode: 0o777 }, done as () => void)), 0, path);
    t.not(await statusOf((done) => sftp.setstat(path, { size: 0 }, done as () => void)), 0, path);
    t.not(await statusOf((done) => sftp.utimes(path, 1, 1, done as () => void)), 0, path);
    t.not(await statusOf((done) => sftp.mkdir(`${path}/made`, done as () => void)), 0, path);
    t.is(await statusOf((done) => sftp.readlink(path, done as Callback<string>)), STATUS_CODE.OP_UNSUPPORTED, path);
  }
  t.not(await statusOf((done) => sftp.rename('plain', 'dir/secret', done as () => void)), 0);
  t.not(await statusOf((done) => sftp.ext_openssh_rename('plain', 'file', done as () => void)), 0);
  t.not(await statusOf((done) => sftp.open('hard', 'w', done as Callback<Buffer>)), 0);
  t.is(await statusOf((done) => sftp.symlink('/etc', 'made', done as () => void)), STATUS_CODE.OP_UNSUPPORTED);
  t.true((await ask<ssh2.Stats>((done) => sftp.stat('file', done))).isSymbolicLink());
  // A link itself may be moved and removed.
  t.is(await statusOf((done) => sftp.rename('dir', 'moved', done as () => void)), 0);
  for (const path of ['moved', 'file', 'loop'])
    t.is(await statusOf((done) => sftp.unlink(path, done as () => void)), 0);
  t.deepEqual(readdirSync(it.root).toSorted(), ['hard', 'plain']);
  const after = statSync(join(outside, 'secret'));
  t.deepEqual(
    [after.mode, after.mtimeMs, after.size, after.uid],
    [before.mode, before.mtimeMs, before.size, before.uid],
  );
  t.deepEqual(readdirSync(outside), ['secret']);
});

test('invalid paths are refused with an error status, and the root cannot be removed', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.folder, 'data/servers/lobby-secret'), 'SECRET');
  const { send, next } = await byHand(t, it);
  const paths = [
    'a\0b',
    'n'.repeat(256),
    'd/'.repeat(70),
    '../lobby-secret',
    Buffer.of(0xff, 0xfe),
    '/%2e%2e/lobby-secret',
  ];
  for (const path of paths) {
    for (const type of [REQUEST.lstat, REQUEST.opendir, REQUEST.remove, REQUEST.rmdir]) {
      send(type, uint32(1), string(path));
      t.truthy(statusIn(await next()), `${type} ${String(path).slice(0, 20)}`);
    }
    send(REQUEST.open, uint32(2), string(path), uint32(OPEN.read), uint32(0));
    t.truthy(statusIn(await next()));
  }
  for (const root of ['/', '.', '', '..', '../../lobby-secret/..']) {
    for (const type of [REQUEST.remove, REQUEST.rmdir]) {
      send(type, uint32(3), string(root));
      t.truthy(statusIn(await next()), `${type} ${root}`);
    }
  }
  t.true(existsSync(it.root));
});

test('the RCON password is masked in server.properties, and the service’s own files are hidden', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'server.properties'), 'rcon.password=hunter2\nmotd=Hi\n');
  writeFileSync(join(it.root, '.rcon-cli.env'), 'hunter2');
  const { send, next, open } = await byHand(t, it);
  const read = await open('server.properties', OPEN.read);
  send(REQUEST.read, uint32(1), read, uint64(0), uint32(1_000));
  t.is(new Fields((await next())!.rest).bytes().toString(), 'rcon.password=*******\nmotd=Hi\n');
  // If one byte of the property's name were overwritten, the password would be shown.
  for (const flags of [OPEN.write, OPEN.write | OPEN.create, OPEN.write | OPEN.exclusive]) {
    send(REQUEST.open, uint32(4), string('server.properties'), uint32(flags), uint32(0));
    t.is(statusIn(await next()), STATUS.permissionDenied);
  }
  // The file stays open for writing while the game writes the password back.
  const kept = await open('server.properties', OPEN.read | OPEN.write | OPEN.truncate);
  writeFileSync(join(it.root, 'server.properties'), 'rcon.password=hunter2\n');
  send(REQUEST.read, uint32(2), kept, uint64(0), uint32(1_000));
  t.is(statusIn(await next()), STATUS.permissionDenied);
  send(REQUEST.lstat, uint32(3), string('.rcon-cli.env'));
  t.is(statusIn(await next()), STATUS.noSuchFile);
});

test.runIf(process.getuid?.() === 0)('new files and folders belong to the game’s user at once', async (t) => {
  const it = await startSftp(t, { owner: { uid: 12_345, gid: 12_346 } });
  const sftp = await openSftp(await connect(t, it));
  await ask((done) => sftp.mkdir('plugins', { uid: 0, gid: 0, mode: 0o755 }, done as () => void));
  const handle = await ask<Buffer>((done) => sftp.open('plugins/x.jar', 'w', done));
  const { uid, gid } = statSync(join(it.root, 'plugins/x.jar'));
  t.deepEqual([uid, gid], [12_345, 12_346]);
  await ask((done) => sftp.fsetstat(handle, { uid: 0, gid: 0 }, done as () => void));
  for (const path of ['plugins', 'plugins/x.jar']) t.is(statSync(join(it.root, path)).uid, 12_345, path);
});
