import { Readable } from 'node:stream';
import { isTagged } from '../../../machines/server.ts';
import type { Engine, LogLine } from '../../engines/engine.ts';
import type { ReplyOf } from '../../http/operation.ts';
import type { Download } from '../../http/download.ts';
import { isAtLeast } from '../../http/roles.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { StreamSlots } from '../../http/stream-slots.ts';
import { StatusError } from '../../kernel/status.ts';
import type { WorkerPool } from '../../kernel/workers/pool.ts';
import { KIB } from '../../kernel/units.ts';
import { ASSETS } from '../../web/assets.ts';
import { linePieces, logLevel, logPieces } from '../../web/assets/log-line.js';
import { csrfField } from '../../web/form.ts';
import { unlessRefused } from '../../servers/pages/parts.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { actionOf } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { sizeText } from '../../web/text.ts';
import { CONSOLE_COMMANDS } from '../../game/console-commands.ts';
import { ListFiles } from '../../files/api.ts';
import { GetPlayerLists } from '../../players/api.ts';
import { RunCommand } from '../console-api.ts';
import { MAX_TAIL } from '../log-streams.ts';
import { GetServerLogs } from '../logs-api.ts';
import { errorPage, isAboveTrace, lineInAddress } from './error.ts';

/** Number of newest lines in the page as sent. A script loads more. */
const SHOWN_LINES = 200;
const FIND_CHARS = 100;
const COMMAND_CHARS = 4_096;

/** The output of a command, shown once. */
interface Said {
  command: string;
  output: string;
}

/** A server's console: its log, and a line for commands. `transferSlots`: for long downloads. `workers` read errors. */
export function mountConsole(panel: Panel, engine: Engine, transferSlots: StreamSlots, workers: WorkerPool): void {
  panel.serverFile('/console/log', (request) => logFile(request, engine, transferSlots));
  panel.serverPage({ path: '/console/error', show: (request) => errorPage(request, workers) });
  panel.serverPage({
    path: '/console',
    show: (request) => consolePage(request),
    forms: {
      async command(request, form) {
        const command = form.get('command') ?? '';
        const { output } = await request.call(RunCommand, { id: request.server.id }, { command });
        return consolePage(request, { command, output });
      },
    },
  });
}

async function consolePage(request: ServerRequest, said?: Said): Promise<Page> {
  const { server, role } = request;
  const find = (request.query.get('find') ?? '').slice(0, FIND_CHARS);
  const log = await readLog(request, find === '' ? SHOWN_LINES : MAX_TAIL);
  const main = html`${said && replyCard(request, said)}
    <section class="card console">
      <div class="heading">
        <h2>Log</h2>
        <p class="soft" data-live="console" data-prints="${String(isTagged(server.state, 'holds-place'))}">
          ${stateSentence(server)}
        </p>
      </div>
      ${toolbar(request, find)} ${logBox(request, log, find)}
      ${isAtLeast(role, 'member') && (await commandForm(request))}
      <p class="unseen" role="status" data-said></p>
    </section>
    <section class="card">
      <h2>Download logs</h2>
      <p>
        <a class="button second" href="${request.here}/log" download> Download full log </a>
      </p>
      ${isAtLeast(role, 'member') && (await earlierLogs(request))}
    </section>`;
  return {
    title: 'Console',
    main,
    styles: [ASSETS.consoleStyle],
    scripts: [ASSETS.consoleScript],
  };
}

/** Reads the log. If it is unavailable, returns the reason, so that the page still accepts commands. */
async function readLog(
  { call, server }: ServerRequest,
  tail: number,
): Promise<Pick<ReplyOf<typeof GetServerLogs>, 'lines'> & { why?: string }> {
  try {
    return await call(GetServerLogs, { id: server.id }, { tail });
  } catch (error) {
    if (!(error instanceof StatusError) || error.code === 'INTERNAL') throw error;
    return { lines: [], why: error.message };
  }
}

function stateSentence({ state, startErrorCode }: ServerRequest['server']): string {
  if (startErrorCode === 'node_lost') return 'Its machine does not respond. Last known log.';
  if (startErrorCode === 'no_room') return 'Waiting for capacity. Log of the last run.';
  switch (state) {
    case 'running':
      return 'Live';
    case 'hibernated':
      return 'Asleep. Log of the last run. Start the server to run commands.';
    case 'start_failed':
    case 'install_failed':
      return 'Log of the failed start';
    default:
      return 'Starting or stopping. Commands work once it is running.';
  }
}

function toolbar({ here }: ServerRequest, find: string): Html {
  return html`<form class="find" method="get" action="${here}" data-find>
    <label for="find">Find</label>
    <input id="find" name="find" type="text" value="${find}" maxlength="${FIND_CHARS}" autocomplete="off" />
    <button class="second" type="submit" data-plain>Find</button>
    <label class="tick" data-scripted hidden
      ><input type="checkbox" data-only-bad /><span>Only warnings and errors</span></label
    >
    <button class="second" type="button" data-pause aria-pressed="false" data-scripted hidden>Pause</button>
  </form>`;
}

function logBox(
  { server }: ServerRequest,
  { lines, why }: { lines: readonly string[]; why?: string },
  find: string,
): Html {
  const shown = find === '' ? lines : foundIn(lines, find);
  const empty = find === '' ? 'No output yet.' : 'No matches.';
  return html`<div
      class="log"
      id="log"
      data-keep
      data-players="${playersOf(server.id)}"
      data-errors="${errorsOf(server.id)}"
      data-log="${BROWSER_PREFIX}/v1/servers/${server.id}/logs/stream?tail=${MAX_TAIL}"
      role="log"
      aria-live="off"
      aria-label="Log"
      tabindex="0"
    >
      <div>${shown.length === 0 ? html`<p class="none">${why ?? empty}</p>` : logLines(shown, server.id)}</div>
    </div>
    <p class="newest">
      <button class="link" type="button" data-newest hidden>Jump to the newest</button>
      <span data-count></span>
      <a href="/servers/${server.id}/console/error">Explain the newest error</a>
    </p>`;
}

/** The line for commands. With a script, Tab completes them and the names of players. */
async function commandForm(request: ServerRequest): Promise<Html> {
  const { call, csrf, sent, server } = request;
  const lists = await unlessRefused(call(GetPlayerLists, { id: server.id }), undefined);
  const names = lists && [...lists.online, ...[...lists.whitelist, ...lists.ops].map(({ name }) => name)];
  return html`<form class="command" method="post" action="${actionOf(request, 'command')}" data-command>
    ${csrfField(csrf)}
    <label for="command">Command</label>
    <input
      id="command"
      name="command"
      type="text"
      value="${sent?.get('command') ?? ''}"
      maxlength="${COMMAND_CHARS}"
      required
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      placeholder="say hello"
      data-history="${server.id}"
      data-commands="${CONSOLE_COMMANDS.join(' ')}"
    />
    <span hidden data-live="names" data-names="${[...new Set(names)].join(' ')}"></span>
    <button type="submit">Run</button>
  </form>`;
}

function replyCard({ server }: ServerRequest, { command, output }: Said): Html {
  return html`<section class="card">
    <h2>Output of <code>${command}</code></h2>
    <div class="log" data-reply tabindex="0" role="group" aria-label="Answer">
      <div>
        ${output.trim() === '' ? html`<p class="none">(no output)</p>` : logLines(output.trimEnd().split('\n'), server.id)}
      </div>
    </div>
  </section>`;
}

const PIECE_CHARS = 64 * KIB;

/**
 * Returns a server's whole stored log as text without colours, for users who may read it over the API. Reads it in one
 * pass, because an engine would read all of it for each page of the API. Throws RESOURCE_EXHAUSTED if too many
 * downloads are in progress.
 */
async function logFile(request: ServerRequest, engine: Engine, transferSlots: StreamSlots): Promise<Download> {
  const { call, principal, server, signal } = request;
  await call(GetServerLogs, { id: server.id }, { tail: 0 });
  const release = transferSlots.take(principal, 'transfer');
  const text = Readable.from(textOf(engine.logs(server.id, { signal })), { objectMode: false });
  return { filename: `${server.id}.log`, open: () => text, close: () => (text.destroy(), release()) };
}

/** Yields the text of the lines in large pieces, because a log has hundreds of thousands of lines. */
async function* textOf(lines: AsyncIterable<LogLine>): AsyncGenerator<string> {
  let piece = '';
  for await (const { text } of lines) {
    piece += `${logPieces(text)
      .map((each) => each.text)
      .join('')}\n`;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Returns the address of the page that acts on a player, up to the name. */
const playersOf = (id: string): string => `/servers/${id}/players?player=`;

/** Returns the address of the page that explains an error, up to the line of the log. */
const errorsOf = (id: string): string => `/servers/${id}/console/error?line=`;

/**
 * Shows the lines of a log in their colours, with warnings and errors marked. Names of players are links, and the line
 * above a stack trace has one to its explanation.
 */
function logLines(lines: readonly string[], id: string): Html {
  let level = '';
  return html`${lines.map((line, at) => {
    level = logLevel(line, level);
    return html`<p class="${level}">
      ${linePieces(line).map(({ text, look, isPlayer }) =>
        isPlayer
          ? html`<a class="${look}" tabindex="-1" href="${playersOf(id)}${encodeURIComponent(text)}">${text}</a>`
          : html`<span class="${look}">${text}</span>`,
      )}${isAboveTrace(lines, at) && explanationLink(id, line)}
    </p>`;
  })}`;
}

/** Its text comes from the style sheet, so that it is not copied with the log. Tab skips it, like the names. */
function explanationLink(id: string, line: string): Html {
  const href = `${errorsOf(id)}${encodeURIComponent(lineInAddress(line))}`;
  return html`<a class="explain" tabindex="-1" href="${href}" aria-label="Explain this error"></a>`;
}

/** Returns the lines that contain a text, ignoring case and colours. */
function foundIn(lines: readonly string[], find: string): string[] {
  const wanted = find.toLowerCase();
  const textOf = (line: string) =>
    logPieces(line)
      .map(({ text }) => text)
      .join('');
  return lines.filter((line) => textOf(line).toLowerCase().includes(wanted));
}

/** The folder of a game's logs: the newest is `latest.log`, earlier ones are compressed and named by day. */
const FOLDER = 'logs';
const PACKED = /^\d{4}-\d\d-\d\d-\d+\.log\.gz$/;
const MOST = 10;

/** Lists the logs that the game stored of its earlier runs, newest first; undefined if it stored none. */
async function earlierLogs({ call, server }: ServerRequest): Promise<Html | undefined> {
  // Not every game keeps logs, and the path may not be a folder.
  const called = call(ListFiles, { id: server.id }, { path: FOLDER });
  const { entries } = await unlessRefused(called, { entries: [] });
  const packed = entries.filter(({ name, isDir }) => !isDir && PACKED.test(name)).sort(newestFirst);
  if (packed.length === 0) return undefined;
  return html`<h3>Earlier runs</h3>
    <ul class="list logs">
      ${packed.slice(0, MOST).map(({ name, size }) => {
        const at = `${BROWSER_PREFIX}/v1/servers/${server.id}/file:download?path=${FOLDER}/${name}`;
        return html`<li>
          <span>${name.replace('.log.gz', '')}</span> <span class="soft">${sizeText(size)}</span>
          <button class="link" type="button" data-read="${at}" data-scripted hidden>
            Read<span class="unseen"> ${name}</span>
          </button>
          <a href="${at}" download>Download<span class="unseen"> ${name}</span></a>
        </li>`;
      })}
    </ul>
    ${packed.length > MOST && html`<p><a href="/servers/${server.id}/files?path=${FOLDER}">All ${packed.length} logs</a></p>`}`;
}

/** Sorts by day and run of that day. */
function newestFirst(one: { name: string }, other: { name: string }): number {
  return other.name.localeCompare(one.name, 'en', { numeric: true });
}
