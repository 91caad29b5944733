import { explainErrorJob } from '../../game/diagnosis/diagnosis.ts';
import type { WorkerPool } from '../../kernel/workers/pool.ts';
import { remedyLink, remedyOf } from '../../servers/pages/alerts.ts';
import { isOfTrace } from '../../web/assets/log-line.js';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { MAX_TAIL } from '../log-streams.ts';
import { GetServerLogs } from '../logs-api.ts';

const CPU_MS = 5_000;
/** Longer lines are cut in the page's address. `console.js` cuts them likewise. */
const MOST_LINE_CHARS = 500;

/** Returns a line as it is in the page's address. A cut may divide a character. */
export function lineInAddress(line: string): string {
  return line.slice(0, MOST_LINE_CHARS).toWellFormed();
}

/** Whether a line has a stack trace below it. */
export function isAboveTrace(lines: readonly string[], at: number): boolean {
  return !isOfTrace(lines[at] ?? '') && isOfTrace(lines[at + 1] ?? '');
}

/** Explains the error of the log's line in the page's query `line`. Default: the newest error with a stack trace. */
export async function errorPage(request: ServerRequest, workers: WorkerPool): Promise<Page> {
  const { server, query, call } = request;
  const wanted = lineInAddress(query.get('line') ?? '');
  const { lines } = await call(GetServerLogs, { id: server.id }, { tail: MAX_TAIL });
  const { type: core, version, ramMb } = server;
  const at = lines.findLastIndex((line, nth) =>
    wanted === '' ? isAboveTrace(lines, nth) : lineInAddress(line) === wanted,
  );
  const context = { phase: 'run', core, version, ramMb } as const;
  // The log is its owner's text, which a worker reads.
  const job = { tenant: server.accountId, signal: request.signal, cpuMs: CPU_MS };
  const error = at < 0 ? undefined : await workers.run(explainErrorJob, { lines, at, context }, job);
  const main = html`<section class="card">
    <h2>An error in the log</h2>
    ${
      error === undefined
        ? html`<p>
            ${wanted === '' ? 'There is no stack trace' : 'This error is no longer'} among the newest ${MAX_TAIL} lines
            of the log.
          </p>`
        : html`${
              error.insights.length > 0
                ? error.insights.map(
                    ({ code, summary, suggestion }) =>
                      html`<p><strong>${summary}</strong> ${suggestion} ${remedyLink(request, remedyOf(code))}</p>`,
                  )
                : unknownError(request, error.jar)
            }
            <h3>Log lines</h3>
            <pre class="lines" tabindex="0" aria-label="Log lines">${error.lines.join('\n')}</pre>`
    }
    <p><a href="/servers/${server.id}/console">Back to the console</a></p>
  </section>`;
  return { title: 'Error', main };
}

/** Says whose error it is, if Dormouse has no explanation for it. */
function unknownError(request: ServerRequest, jar: string): Html {
  if (jar === '')
    return html`<p>
      Dormouse does not know this error. If players don’t notice a problem, you can ignore it. Otherwise undo your last
      change, or ask the authors of the software that the lines below name.
    </p>`;
  return html`<p>
    The error comes from <strong>${jar}</strong>. If players don’t notice a problem, you can ignore it. Otherwise update
    the file to a build for Minecraft ${request.server.version}, or remove it.
    ${remedyLink(request, remedyOf('mod_crashed'))}
  </p>`;
}
