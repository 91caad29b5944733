import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

const program = join(import.meta.dirname, '../../src/sandbox/main.ts');
const LINE_TIMEOUT_MS = 120_000;

/** Options of a sandbox server. */
export interface SandboxOptions {
  version?: string;
  /** Its data directory. Default: a new one, which is removed after the test. */
  directory?: string;
  /** Further environment, beside an accepted EULA, free ports, offline mode and a known RCON password. */
  env?: Record<string, string>;
  /** Options of Node. */
  execArgv?: string[];
}

/** A running sandbox server. */
export interface Sandbox {
  pid: number;
  directory: string;
  lines: string[];
  /** Resolves with the first line that matches, already printed or still to come. */
  waitLine(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** Waits for `Done`, and resolves with the ports. */
  ready(): Promise<{ port: number; rconPort: number }>;
  type(line: string): void;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or with the signal that ended the process. */
  exited: Promise<number | NodeJS.Signals>;
  /** Sends SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | NodeJS.Signals>;
}

export const RCON_PASSWORD = 'for-tests-only';

/** Creates a directory that is removed after the test. */
export function temporaryDirectory(t: ExecutionContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'dormouse-sandbox-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts the real program in a process of its own, which ends with the test at the latest. */
export function startSandbox(t: ExecutionContext, options: SandboxOptions = {}): Sandbox {
  // On a busy machine, a start alone may exceed a test's default limit of ten seconds.
  t.timeout(300_000);
  const directory = options.directory ?? temporaryDirectory(t);
  const child = spawn(process.execPath, [...(options.execArgv ?? []), program], {
    cwd: directory,
    env: {
      // minecraft-protocol reads it, and a user without a name has no other.
      HOME: directory,
      EULA: 'TRUE',
      VERSION: options.version ?? '1.20.4',
      SERVER_IP: '127.0.0.1',
      SERVER_PORT: '0',
      RCON_PORT: '0',
      RCON_PASSWORD: RCON_PASSWORD,
      ONLINE_MODE: 'FALSE',
      ...COMPILE_CACHE,
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const waitLine = (pattern: RegExp, timeoutMs = LINE_TIMEOUT_MS) =>
    new Promise<string>((resolve, reject) => {
      const give = (settle: () => void) => {
        waiting.delete(look);
        clearTimeout(timer);
        settle();
      };
      const complain = () => give(() => reject(new Error(`no line like ${pattern} in:\n${lines.join('\n')}`)));
      const timer = setTimeout(complain, timeoutMs);
      const look = () => {
        const line = lines.find((text) => pattern.test(text));
        if (line !== undefined) give(() => resolve(line));
      };
      waiting.add(look);
      look();
      void exited.then(complain);
    });
  const portIn = async (pattern: RegExp) => Number(pattern.exec(await waitLine(pattern))![1]);
  return {
    pid: child.pid!,
    directory,
    lines,
    waitLine,
    ready: async () => {
      await waitLine(/Done \(\d+\.\d{3}s\)! For help/);
      return { port: await portIn(/Listening on port (\d+)/), rconPort: await portIn(/RCON running on [^ ]*:(\d+)/) };
    },
    type: (line) => child.stdin.write(`${line}\n`),
    signal: (signal) => child.kill(signal),
    exited,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
