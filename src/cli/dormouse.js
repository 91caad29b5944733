#!/usr/bin/env node
// Plain JavaScript that older Nodes understand: it finds one that runs the program itself.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

// Hints name the command by which it was started (`called.ts`).
process.env.DORMOUSE_STARTED_AS = process.argv[1];

if (major > 24 || (major === 24 && minor >= 12)) {
  await import('./main.ts');
} else {
  const node = bundledNode(here);
  if (node === undefined) {
    process.stderr.write(`dormouse: Node 24.12 or newer is needed, this is ${process.versions.node}.\n`);
    process.exit(1);
  }
  passOn(spawn(node, [join(here, 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' }));
}

/** The Node that comes along as a package, in the nearest node_modules above. */
function bundledNode(directory) {
  const node = join(directory, 'node_modules', '.bin', 'node');
  if (existsSync(node)) return node;
  const above = dirname(directory);
  return above === directory ? undefined : bundledNode(above);
}

/** Signals go in, the end comes out. */
function passOn(child) {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`dormouse: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
