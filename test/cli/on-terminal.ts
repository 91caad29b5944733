import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { type Running, follow } from './program.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** The program on a terminal of its own, made by `script` of util-linux. Undefined, and said so, where there is none. */
export async function onTerminal(
  t: ExecutionContext,
  env: Record<string, string>,
  ...args: string[]
): Promise<Running | undefined> {
  return await nodeOnTerminal(t, env, MAIN, ...args);
}

/** The same for any program of Node. */
export async function nodeOnTerminal(
  t: ExecutionContext,
  env: Record<string, string>,
  ...words: string[]
): Promise<Running | undefined> {
  const there = await access('/usr/bin/script').then(
    () => true,
    () => false,
  );
  if (!there) {
    t.log('SKIPPED: needs script of util-linux, which is not here');
    t.pass();
    return undefined;
  }
  const line = [process.execPath, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('/usr/bin/script', ['-qec', `stty cols 70; ${line}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...COMPILE_CACHE, ...env },
  });
  t.teardown(() => child.kill('SIGKILL'));
  return follow(child, () => {});
}

/** What a terminal was told, with escapes as letters. */
export function visible(text: string): string {
  return text.replaceAll('\u001b', '␛');
}
