import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { ExecutionContext } from 'ava';
import { run } from '../../src/cli/program.ts';
import { type ApiTestOptions, type ApiUnderTest, api } from '../support/api-harness.ts';

/** The output and exit code of a command. */
export interface Ended {
  /** Null if a signal ended the command. */
  code: number | null;
  out: string;
  err: string;
}

/** The program and its service, both within this process. A command starts no process of its own. */
export interface Commands extends ApiUnderTest {
  /** A fresh home folder for the user of the program. */
  home: string;
  run: (words: string[], options?: { input?: string; key?: string }) => Promise<Ended>;
  /** Runs a command and returns its output. Fails unless it exits with 0 and prints the pattern. */
  says: (words: string[], pattern: RegExp, input?: string) => Promise<string>;
  /** Runs a command. Fails unless it exits with the code and prints only an error that matches the pattern. */
  refuses: (words: string[], pattern: RegExp, code?: number, input?: string) => Promise<void>;
  create: (...given: Parameters<ApiUnderTest['create']>) => ReturnType<ApiUnderTest['create']>;
}

/** Runs the program within this process. */
export async function runHere(words: string[], env: Record<string, string> = {}, input = ''): Promise<Ended> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const [out, err] = [stdout, stderr].map((stream) => textOf(stream));
  stdin.end(input);
  const code = await run(words, { env, stdin, stdout, stderr, signal: new AbortController().signal });
  stdout.end();
  stderr.end();
  return { code, out: (await out) ?? '', err: (await err) ?? '' };
}

/** Starts a service and returns functions that run commands against it. */
export async function commandsAt(t: ExecutionContext, options: ApiTestOptions = {}): Promise<Commands> {
  const service = await api(t, options);
  const home = await mkdtemp(join(tmpdir(), 'dormouse-cli-'));
  t.teardown(() => rm(home, { recursive: true, force: true }));

  function runWords(words: string[], { input = '', key = service.key } = {}): Promise<Ended> {
    return runHere(words, { HOME: home, DORMOUSE_URL: service.origin, DORMOUSE_KEY: key }, input);
  }

  return {
    ...service,
    home,
    run: runWords,
    async says(words, pattern, input) {
      const { code, out, err } = await runWords(words, { ...(input !== undefined && { input }) });
      t.is(code, 0, `${words.join(' ')}: ${err}`);
      t.regex(out, pattern, words.join(' '));
      const isOdd = (out + err).includes('\u001b') || /undefined|NaN|\[object/.test(out + err);
      t.false(isOdd, `${words.join(' ')}: ${out}${err}`);
      return out;
    },
    async refuses(words, pattern, expected = 1, input) {
      const { code, out, err } = await runWords(words, { ...(input !== undefined && { input }) });
      t.deepEqual([code, out], [expected, ''], `${words.join(' ')}: ${err}`);
      t.regex(err, pattern, words.join(' '));
    },
  };
}

async function textOf(stream: PassThrough): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk);
  return text;
}
