import { html } from '../../web/html.ts';
import { commandForms } from './commands.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Page } from '../../web/page-request.ts';

/** A server's front page: what it is doing, and what happens next. */
export function mountOverview(panel: Panel): void {
  panel.serverPage({ path: '', show: overviewPage, forms: commandForms() });
}

function overviewPage({ server }: ServerRequest): Page {
  const main = html`<section class="card" data-live="facts">
    <dl class="facts">
      <div>
        <dt>Software</dt>
        <dd>${server.type} ${server.version}</dd>
      </div>
      <div>
        <dt>RAM</dt>
        <dd>${server.ramMb} MB</dd>
      </div>
    </dl>
  </section>`;
  return { title: server.name, main };
}
