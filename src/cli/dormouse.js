#!/usr/bin/env node
// Plain JavaScript that older versions of Node can run. Finds a Node that can run the program itself.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

// Suggested commands begin with the command that started this program (`called.ts`).
process.env.DORMOUSE_STARTED_AS = process.argv[1];

if (major > 24 || (major === 24 && minor >= 12)) {
  await import('./main.ts');
} else {
  const node = bundledNode(here);
  if (node === undefined) {
    process.stderr.write(`dormouse: Node 24.12 or newer is needed, but this is ${process.versions.node}.\n`);
    process.exit(1);
  }
  passOn(spawn(node, [join(here, 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' }));
}

/** Returns the path of the Node installed as a package, in the nearest node_modules above; undefined without one. */
function bundledNode(directory) {
  const node = join(directory, 'node_modules', '.bin', 'node');
  if (existsSync(node)) return node;
  const above = dirname(directory);
  return above === directory ? undefined : bundledNode(above);
}

/** Forwards signals to the child, and exits with its exit code. */
function passOn(child) {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`dormouse: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
