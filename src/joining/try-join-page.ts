import { startup } from '../servers/pages/what-now.ts';
import { tryJoinForm } from '../servers/pages/parts.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { inShort } from '../web/panel/in-short.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { fact } from '../web/panel/parts.ts';
import { BOT_NAME } from './join-bot.ts';
import type { TryJoin, TryJoins } from './try-joins.ts';

/** Enough for a join of an awake server, which then shows its result at once. */
const PATIENCE_MS = 1_500;
const RELOAD_SECONDS = 3;

/** The stages of a bot's join, while they happen and for 10 minutes afterwards. Everyone who may start the server may try. */
export function mountTryJoin(panel: Panel, tries: TryJoins): void {
  panel.serverPage({
    path: '/try',
    show: (request) => tryPage(request, tries.of(request.server.id)),
    forms: {
      async join({ server, here }) {
        await inShort(tries.begin(server), '', '', PATIENCE_MS);
        return { to: here };
      },
    },
  });
}

function tryPage(request: ServerRequest, attempt: TryJoin | undefined): Page {
  const { addr, id } = request.server;
  const isRunning = attempt !== undefined && attempt.result === undefined;
  const main = html`<section class="card" data-live="try" ${isRunning && html`data-soon`}>
    <h2>Try a join</h2>
    ${attempt === undefined ? html`<p>No try in the last 10 minutes, or the service has restarted since.</p>` : stages(request, attempt)}
    ${addr === '' ? html`<p>This server has no public address. Players reach it through its front.</p>` : !isRunning && tryJoinForm(request)}
    <p><a href="/servers/${id}">Back to the overview</a></p>
  </section>`;
  return { title: 'Try a join', main, ...(isRunning && { reloadSeconds: RELOAD_SECONDS }) };
}

function stages({ server }: ServerRequest, { address, isLocal, stages, stage, result }: TryJoin): Html {
  const isPast = result?.tone === 'good';
  return html`<p>${BOT_NAME} joins <code>${address}</code>. The times count from the stage before.</p>
    <dl class="facts">
      ${stages.map(({ name, ms, detail }) => fact(name, html`✓ ${msText(ms)} ${detail !== '' && html`<small><bdi>${detail}</bdi></small>`}`))}
      ${!isPast && fact(stage, result === undefined ? '…' : '✗')}
    </dl>
    ${result === undefined && server.state === 'starting' && startup(server)}
    ${result && html`<p class="note ${result.tone}" role="status">${result.text}</p>`}
    <p class="soft">
      Tried from the service’s machine,
      ${
        isLocal
          ? 'through its own proxy: a missing port forwarding or a closed firewall doesn’t show here.'
          : 'at the public address: the way from other networks may differ.'
      }
      If friends can’t connect from elsewhere, see “Let friends connect” in docs/share.md.
    </p>`;
}

function msText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
