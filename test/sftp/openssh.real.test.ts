import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { isHere } from '../support/needs.ts';
import { type SftpUnderTest, openssh, startSftp } from './support.ts';

/** Starts SFTP for OpenSSH's client. `run` executes a batch of its commands and returns the output. */
async function start(t: ExecutionContext): Promise<SftpUnderTest & { run: (...batch: string[]) => Promise<string> }> {
  const it = await startSftp(t);
  return {
    ...it,
    async run(...batch) {
      const { code, output } = await openssh(it, batch);
      t.is(code, 0, output);
      return output;
    },
  };
}

/** Writes a file whose bytes vary from place to place, and returns them. */
function noise(file: string, bytes: number): Buffer {
  const block = createHash('shake256', { outputLength: 65_521 }).update(file).digest();
  const content = Buffer.alloc(bytes, block);
  writeFileSync(file, content);
  return content;
}

async function checksum(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

test.runIf(isHere('openssh'))(
  'OpenSSH uploads and downloads whole folders, including unusual file names',
  async (t) => {
    const it = await start(t);
    const { run, root, folder } = it;
    const names = ['plain', 'with space', 'ünï', '日本', 'a\\b', 'percent%2e', '-dash', `${'n'.repeat(251)}.txt`];
    mkdirSync(join(folder, 'up/deep/er'), { recursive: true });
    mkdirSync(join(folder, 'up/empty'));
    for (const name of names) writeFileSync(join(folder, 'up', name), name);
    writeFileSync(join(folder, 'up/deep/er/nothing'), '');
    await run('put -r up');
    await run('put -r up');
    await run('get -r up down');
    const all = (place: string) => readdirSync(place, { recursive: true, encoding: 'utf8' }).toSorted();
    t.deepEqual(all(join(root, 'up')), all(join(folder, 'up')));
    t.deepEqual(all(join(folder, 'down')), all(join(folder, 'up')));
    for (const name of names) t.is(readFileSync(join(folder, 'down', name), 'utf8'), name);
  },
);

test.runIf(isHere('openssh'))('a 256 MiB file is unchanged after an upload and a download', async (t) => {
  t.timeout(300_000);
  const it = await start(t);
  const { run, root, folder } = it;
  noise(join(folder, 'big'), 256 * 2 ** 20);
  const expected = await checksum(join(folder, 'big'));
  await run('put big', 'get big back');
  t.is(await checksum(join(root, 'big')), expected);
  t.is(await checksum(join(folder, 'back')), expected);
});

test.runIf(isHere('openssh'))('eight concurrent transfers in each direction keep every file intact', async (t) => {
  const it = await start(t);
  const { run, root, folder } = it;
  const names = Array.from({ length: 8 }, (_, index) => `file-${index}`);
  for (const name of names) noise(join(folder, name), 8 * 2 ** 20);
  await Promise.all(names.map((name) => run(`put ${name}`, `get ${name} ${name}.back`)));
  for (const name of names) {
    const expected = await checksum(join(folder, name));
    t.is(await checksum(join(root, name)), expected);
    t.is(await checksum(join(folder, `${name}.back`)), expected);
  }
});

test.runIf(isHere('openssh'))(
  'an interrupted upload or download resumes, and a shorter upload replaces a longer file',
  async (t) => {
    const it = await start(t);
    const { run, root, folder } = it;
    const whole = noise(join(folder, 'world.zip'), 3_000_001);
    writeFileSync(join(root, 'world.zip'), whole.subarray(0, 1_234_567));
    await run('reput world.zip');
    t.true(readFileSync(join(root, 'world.zip')).equals(whole));
    writeFileSync(join(folder, 'part'), whole.subarray(0, 2_345_678));
    await run('reget world.zip part');
    t.true(readFileSync(join(folder, 'part')).equals(whole));
    // A shorter upload leaves no rest of a longer file.
    writeFileSync(join(folder, 'short'), 'short');
    await run('put short world.zip');
    t.is(readFileSync(join(root, 'world.zip'), 'utf8'), 'short');
  },
);

test.runIf(isHere('openssh'))(
  'OpenSSH renames over an existing file, keeps times, sets permissions, and shows df',
  async (t) => {
    const it = await start(t);
    const { run, root, folder } = it;
    writeFileSync(join(root, 'old'), 'old');
    writeFileSync(join(root, 'new'), 'new');
    writeFileSync(join(folder, 'dated'), 'x');
    const output = await run(
      'rename new old',
      'put -p dated',
      'chmod 600 dated',
      'ls -l',
      'df',
      'mkdir d',
      'rename d e',
      'rmdir e',
    );
    t.is(readFileSync(join(root, 'old'), 'utf8'), 'new');
    t.false(existsSync(join(root, 'new')));
    t.deepEqual(readdirSync(root).toSorted(), ['dated', 'old']);
    t.is(
      Math.floor(statSync(join(root, 'dated')).mtimeMs / 1_000),
      Math.floor(statSync(join(folder, 'dated')).mtimeMs / 1_000),
    );
    t.regex(output, /^-rw------- +1 game +game +1 \w{3} [ \d]\d \d\d:\d\d dated$/m);
    t.regex(output, /%Capacity/);
  },
);

test.runIf(isHere('openssh'))('OpenSSH lists all entries of a directory of 5 000', async (t) => {
  const it = await start(t);
  const { run, root } = it;
  mkdirSync(join(root, 'region'));
  const names = Array.from({ length: 5_000 }, (_, index) => `r.${index}.${-index}.mca`);
  for (const name of names) writeFileSync(join(root, 'region', name), '');
  const output = await run('cd region', 'ls -1');
  const listed = output.split('\n').filter((line) => line.startsWith('r.'));
  t.deepEqual(listed.toSorted(), names.toSorted());
});

test.runIf(isHere('openssh'))('OpenSSH cannot leave the server’s root, by relative or by absolute paths', async (t) => {
  const it = await start(t);
  const { run, root, folder } = it;
  writeFileSync(join(folder, 'data/servers/secret'), 'another server’s');
  writeFileSync(join(root, 'mine'), 'mine');
  const output = await run(
    'cd ../../../..',
    'pwd',
    'ls -1',
    '-get ../secret stolen',
    '-get /etc/passwd stolen',
    '-ls /etc',
    '-cd ../secret',
    'get ../../mine got',
  );
  t.regex(output, /working directory: \/\n/);
  t.regex(output, /^mine *$/m);
  t.notRegex(output, /passwd *$|root:/m);
  t.false(existsSync(join(folder, 'stolen')));
  t.is(readFileSync(join(folder, 'got'), 'utf8'), 'mine');
});

test.runIf(isHere('openssh'))('OpenSSH is refused a subsystem other than sftp', async (t) => {
  const it = await start(t);
  const { code, output } = await openssh(it, ['ls'], ['-s', 'backdoor']);
  t.not(code, 0, output);
});
