import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { fastDir } from '../support/fast-dir.ts';
import { NO_SOURCES } from '../support/no-sources.ts';
import { freePort, trust } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRELUDE = join(import.meta.dirname, 'session.sh');
/** The limit for one command on a busy machine. */
const PATIENCE_MS = 180_000;
/** Entries of a checkout that a first start must not find. */
const NOT_FRESH = new Set(['data', '.env', '.git']);

/** A shell in a fresh folder of this project, like that of a reader of a page. */
export interface ShellSession {
  folder: string;
  settings: Readonly<Record<string, string>>;
  /** Runs commands in order, with this session's ports. Resolves with the output of the last; rejects if one fails. */
  run(commands: string): Promise<string>;
  /** Replaces the default ports in a text by this session's ports. */
  withPorts(text: string): string;
}

/** Called for each line that a command prints while it runs. */
export type OnOutput = (line: string, session: ShellSession) => void;

/** Opens a session that ends with the test. `within` is a program, with arguments, that runs the shell. */
export async function openSession(
  t: ExecutionContext,
  extra: Record<string, string>,
  { within = [], onOutput = () => undefined }: { within?: readonly string[]; onOutput?: OnOutput } = {},
): Promise<ShellSession> {
  const folder = await freshFolder(t);
  const settings = { ...(await settingsOfOne()), ...extra };
  const [program, ...args] = [...within, 'bash', '--noprofile', '--norc'];
  const shell = spawn(program, args, {
    cwd: folder,
    env: {
      ...settings,
      ...COMPILE_CACHE,
      PATH: pathOfReaders(),
      HOME: join(folder, 'home'),
      ROOT,
      NODE: process.execPath,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  t.teardown(() => closed(shell));
  const typed = new Shell(shell, (line) => onOutput(line, session));
  const session: ShellSession = {
    folder,
    settings,
    withPorts: (text) => withPorts(text, settings),
    async run(commands) {
      let output = '';
      for (const command of commandsOf(withPorts(commands, settings))) output = await typed.run(command, folder);
      return output;
    },
  };
  await typed.run(`. ${PRELUDE}`, folder);
  return session;
}

/** A bash that runs one command after the other. */
class Shell {
  readonly #shell: ChildProcess;
  #transcript = '';
  #answer: { end: string; output: string; resolve: (status: string) => void } | undefined;

  constructor(shell: ChildProcess, onLine: (line: string) => void) {
    this.#shell = shell;
    shell.once('exit', () => this.#answer?.resolve('the shell'));
    for (const stream of [shell.stdout, shell.stderr]) {
      let rest = '';
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          this.#hear(line);
          onLine(line);
        }
      });
    }
  }

  async run(command: string, folder: string): Promise<string> {
    this.#transcript += `$ ${command}\n`;
    const end = `ended-${crypto.randomUUID()}`;
    const answered = Promise.withResolvers<string>();
    this.#answer = { end, output: '', resolve: answered.resolve };
    const late = setTimeout(() => answered.resolve('no end'), PATIENCE_MS);
    // A command must not read the following input. Both of its streams end before the status is printed.
    this.#shell.stdin?.write(`{ ${command}\n} </dev/null 2>&1; printf '\\n%s %s\\n' ${end} $?\n`);
    const status = await answered.promise;
    clearTimeout(late);
    const { output } = this.#answer;
    this.#answer = undefined;
    if (status !== '0') throw new Error(await this.#said(`failed (${status}): ${command}`, folder));
    for (const expected of promisedBy(command)) {
      if (!bare(output).includes(bare(expected)))
        throw new Error(await this.#said(`${expected} is not in what it said: ${command}`, folder));
    }
    return output;
  }

  #hear(line: string): void {
    if (this.#answer !== undefined && line.startsWith(this.#answer.end))
      return this.#answer.resolve(line.slice(this.#answer.end.length + 1));
    this.#transcript += `${line}\n`;
    if (this.#answer) this.#answer.output += `${line}\n`;
  }

  async #said(why: string, folder: string): Promise<string> {
    const log = await readFile(join(folder, 'service.log'), 'utf8').catch(() => '');
    const tail = log.split('\n').slice(-15).join('\n');
    return `${why}\n\nThe session:\n${this.#transcript.slice(-6_000)}\nThe service:\n${tail}`;
  }
}

/** Returns the expected output of a command, from comments behind it such as `# "state": "hibernated"`. */
function promisedBy(command: string): string[] {
  return [...command.matchAll(/ # (".+)$/gm)].map(([, text = '']) => text);
}

function bare(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

/** Splits a block into complete commands, each of one or more lines. */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let command = '';
  for (const line of block.split('\n')) {
    command += command === '' ? line : `\n${line}`;
    if (/^\s*(?:#.*)?$/.test(command)) command = '';
    else if (isWhole(command)) {
      commands.push(command);
      command = '';
    }
  }
  if (command !== '') throw new Error(`no whole command: ${command}`);
  return commands;
}

function isWhole(command: string): boolean {
  if (command.endsWith('\\')) return false;
  try {
    execFileSync('bash', ['-n'], { input: `${command}\n`, stdio: ['pipe', 'ignore', 'ignore'] });
    return true;
  } catch {
    return false;
  }
}

function withPorts(text: string, { HTTP_PORT = '', PROXY_PORT = '', SFTP_PORT = '' }: Record<string, string>): string {
  return text
    .replaceAll(/\b8080\b/g, HTTP_PORT)
    .replaceAll(/\b25565\b/g, PROXY_PORT)
    .replaceAll(/\b2022\b/g, SFTP_PORT);
}

/** The search path of readers: their machine's Node comes first. `npm` finds the version that `npm ci` installed. */
function pathOfReaders(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.filter((folder) => !folder.includes('node_modules')).join(delimiter);
}

async function freshFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(await fastDir(), 'dormouse-docs-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  // Games may run as another user, who needs access to the folder. The service changes the user if root starts it.
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'home'));
  for (const name of readdirSync(ROOT).filter((each) => !NOT_FRESH.has(each)))
    await symlink(join(ROOT, name), join(folder, name));
  return folder;
}

/** Returns the settings of a service with free ports that makes no calls outside this machine. */
async function settingsOfOne(): Promise<Record<string, string>> {
  const [http, players, sftp, extra] = [await freePort(), await freePort(), await freePort(), await freePort(20)];
  return {
    HTTP_PORT: String(http),
    PROXY_PORT: String(players),
    PROXY: 'embedded',
    SFTP_PORT: String(sftp),
    EXTRA_PORTS: `${extra}-${extra + 19}`,
    ENGINE: 'process',
    ...(await trust()),
    ...NO_SOURCES,
    DORMOUSE_URL: `http://localhost:${http}`,
  };
}

async function closed(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  const exited = once(shell, 'exit');
  shell.stdin?.end();
  // The shell ends its child processes. If it does not end in time, it is killed.
  const late = setTimeout(() => shell.kill('SIGKILL'), 120_000);
  await exited;
  clearTimeout(late);
}
