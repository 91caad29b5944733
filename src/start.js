/*
 * The entry of `npm start`, `npm run proxy` and `npm run sandbox-image`. Plain JavaScript that any Node can run, from any shell: it reports
 * missing packages or an old Node in one sentence. An old Node could not even parse a TypeScript program. Compiled code is cached, so that
 * the next start is faster.
 */
import { existsSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const LEAST = [24, 12];
const ROOT = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..');

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (!existsSync(path.join(ROOT, 'node_modules/xstate'))) {
  fail('The packages are not installed. Run npm ci first.');
} else if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
  fail(
    `Node ${LEAST.join('.')} or newer is needed, but this is ${process.versions.node}. On Linux x64, npm ci installs it for npm start. On other systems, install it from https://nodejs.org.`,
  );
} else {
  const cache = path.join(ROOT, 'node_modules/.cache/dormouse');
  // Applies to this process and its child processes.
  process.env.NODE_COMPILE_CACHE ??= cache;
  module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);
  const other = { proxy: 'proxy/main.ts', 'sandbox-image': 'src/engines/docker/sandbox-image.ts' }[process.argv[2]];
  if (other !== undefined) process.argv.splice(2, 1);
  const { currentBundle } = await import(pathToFileURL(path.join(ROOT, 'src/kernel/workers/bundled.js')).href);
  const bundle = other === undefined ? currentBundle() : undefined;
  if (bundle !== undefined) await import(pathToFileURL(bundle).href);
  else await runSource(other ?? 'src/main.ts');
}

async function runSource(file) {
  await import(pathToFileURL(path.join(ROOT, 'src/quick-imports.js')).href);
  const program = await import(pathToFileURL(path.join(ROOT, file)).href);
  await program.main?.(process.argv.slice(2));
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
