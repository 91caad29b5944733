import type { Writable } from 'node:stream';
import { type Api, VERSION, createApi, done } from './api.ts';
import { DORMOUSE } from './called.ts';
import type { Command, Context, OptionValues } from './command.ts';
import { SECTIONS } from './commands.ts';
import { CommandError, EXIT, interrupted, noCredentialsFile, reasonOf, violationsIn } from './errors.ts';
import { type Found, findCommand, findHelp } from './find.ts';
import { errorJson, errorLines } from './format.ts';
import { commandHelp, programHelp, subjectHelp } from './help.ts';
import { LONG_MS, localUrl, serviceUrl } from './http.ts';
import { type GlobalValues, parseCommand, splitCommandLine } from './parse.ts';
import { MY_SERVERS, SERVER, VERSIONS, read } from './shapes.ts';
import { credentialsFile, historyBeside, loadCredentials, saveCredentials } from './stored.ts';
import { didYouMean, nearest, suggest } from './suggest.ts';
import { type Terminal, createTerminal } from './terminal.ts';
import { oneLine } from './text.ts';

/** The environment variables used by this program. */
type Env = Readonly<
  Partial<
    Record<
      | 'DORMOUSE_URL'
      | 'DORMOUSE_KEY'
      | 'XDG_CONFIG_HOME'
      | 'HOME'
      | 'NO_COLOR'
      | 'TERM'
      | 'BASE_URL'
      | 'HTTP_HOST'
      | 'HTTP_PORT',
      string | undefined
    >
  >
>;

/** The process of a run. */
interface Host {
  env: Env;
  stdin: Context['input'];
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  /** Aborted by Ctrl-C and by termination signals. */
  signal: AbortSignal;
}

/** Runs one command line, prints errors, and resolves with the exit code. Never rejects. */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  const terminal = createTerminal(host, host.env);
  // Applies even if the line cannot be parsed: a caller that requests JSON expects JSON.
  let json = argv.includes('--json');
  try {
    const { globals, name, rest } = splitCommandLine(argv);
    if (globals.version) return version(terminal);
    if (name === undefined) return help(terminal, programHelp(SECTIONS), globals.help);
    if (name === 'help') {
      const words = rest.filter((word) => !word.startsWith('-'));
      return help(terminal, words.length > 0 ? helpOf(findHelp(SECTIONS, words)) : programHelp(SECTIONS), true);
    }
    const found = findCommand(SECTIONS, name, rest);
    const isAsked = globals.help || rest.includes('--help') || rest.includes('-h');
    if ('subject' in found) return help(terminal, helpOf(found), isAsked);
    const { args, values } = parseCommand(found.command, found.rest);
    if (globals.help || values.help) return help(terminal, helpOf(found), true);
    json = (globals.json ?? values.json) === true;
    const given = await context({ url: values.url ?? globals.url, json }, host, terminal);
    await withAdvice(given, found.command, args, values);
    return 0;
  } catch (thrown) {
    const error = commandError(thrown, host.signal);
    for (const line of json ? [errorJson(error)] : errorLines(error, terminal.err)) terminal.note(line);
    return error.exitCode;
  } finally {
    terminal.clear();
  }
}

/** Runs the command. Adds suggestions and the address of the service to a refusal. */
async function withAdvice(context: Context, command: Command, args: string[], values: OptionValues): Promise<void> {
  try {
    await command.run(context, args, values);
  } catch (error) {
    if (!(error instanceof CommandError) || context.json || context.signal.aborted) throw error;
    context.terminal.clear();
    const advice = await adviceFor(error, context, command, args, values);
    // Messages of other kinds name the service themselves.
    if (error.exitCode === EXIT.refused && !error.isLocal) advice.push(`Answered by ${context.url}.`);
    throw new CommandError(error.exitCode, error.status, advice);
  }
}

function helpOf(found: Found): string {
  return 'subject' in found ? subjectHelp(found.subject) : commandHelp(found.command);
}

/** Requested help is a result; help shown because no command was named is an error. */
function help({ out, err }: Terminal, text: string, requested = false): number {
  (requested ? out : err).line(text);
  return requested ? 0 : EXIT.usage;
}

function version({ out }: Terminal): number {
  out.line(VERSION);
  return 0;
}

async function context(values: GlobalValues, { env, stdin, signal }: Host, terminal: Terminal): Promise<Context> {
  const file = credentialsFile(env);
  const load = () => loadCredentials(file).catch((error: unknown) => Promise.reject(fileError(error, file)));
  const { current, keys } = await load();
  const url = serviceUrl(values.url || env.DORMOUSE_URL || current || localUrl('.', env));
  const key = env.DORMOUSE_KEY || (Object.hasOwn(keys, url) ? keys[url] : undefined);
  return {
    url,
    api: createApi(url, key, signal),
    slow: createApi(url, key, signal, LONG_MS),
    apiUntil: (until) => createApi(url, key, AbortSignal.any([signal, until])),
    history: historyBeside(file),
    terminal,
    json: values.json === true,
    signal,
    input: stdin,
    credentials: {
      load,
      save: (credentials) =>
        saveCredentials(file, credentials).catch((error: unknown) => Promise.reject(fileError(error, file))),
    },
    document: (value) => terminal.out.line(JSON.stringify(value, null, 2)),
  };
}

function fileError(error: unknown, file: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? (error as Error)
    : noCredentialsFile(
        `${file} cannot be used to store keys (${code}). Change its owner or mode, or set XDG_CONFIG_HOME.`,
      );
}

function commandError(thrown: unknown, signal: AbortSignal): CommandError {
  if (thrown instanceof CommandError) return thrown;
  if (signal.aborted) return interrupted('Interrupted.');
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new CommandError(EXIT.refused, { code: 13, message: `Internal error: ${text}`, details: [] });
}

/**
 * Returns suggestions for a refused call, as sentences: another server, another core. Queries the service. Returns none
 * if the service fails.
 */
async function adviceFor(
  error: CommandError,
  { api }: Context,
  { args: names }: Command,
  args: readonly string[],
  values: OptionValues,
): Promise<string[]> {
  try {
    if (reasonOf(error) === 'SERVER_NOT_FOUND' && names[0] === '<id>') return await otherServers(api, args[0] ?? '');
    if (reasonOf(error) === 'EULA_NOT_ACCEPTED') return [`The owner can accept it: ${DORMOUSE} eula --accept`];
    const isWrong = violationsIn(error.status.details).some(({ field }) => field === 'type');
    if (isWrong && typeof values['type'] === 'string') return await otherCores(api, values['type']);
    return [];
  } catch (failure) {
    if (failure instanceof CommandError) return [];
    throw failure;
  }
}

async function otherServers(api: Api, id: string): Promise<string[]> {
  const { servers } = read({ servers: [SERVER] }, await done(api.GET('/v1/servers')), oneLine);
  const { shared } = read(MY_SERVERS, await done(api.GET('/v1/me/servers')), oneLine);
  const ids = [...servers, ...shared].map((server) => server.id);
  const named = servers.filter(({ name }) => nearest(id, [name]).length > 0 || name === id).map((server) => server.id);
  const suggestions = [...new Set([...nearest(id, ids), ...named])].slice(0, 3);
  return [suggestions.length > 0 ? didYouMean(suggestions) : `List your servers with: ${DORMOUSE} servers`];
}

async function otherCores(api: Api, type: string): Promise<string[]> {
  const { cores } = read(VERSIONS, await done(api.GET('/v1/minecraft/versions')), oneLine);
  const sentence = suggest(
    type,
    cores.map((core) => core.type),
  );
  return sentence === '' ? [] : [sentence];
}
