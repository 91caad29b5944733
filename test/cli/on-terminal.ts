import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { type Running, follow } from './program.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** Starts the program on a terminal, by `script` of util-linux. Without `script`, logs a skip and returns undefined. */
export async function onTerminal(
  t: ExecutionContext,
  env: Record<string, string>,
  ...args: string[]
): Promise<Running | undefined> {
  return await nodeOnTerminal(t, env, MAIN, ...args);
}

/** Starts any Node program on a terminal, like `onTerminal`. */
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
    t.log('SKIPPED: needs script of util-linux, which is not installed');
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

/** Returns the text with escape characters made visible. */
export function visible(text: string): string {
  return text.replaceAll('\u001b', '␛');
}
