import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { softwareName } from '../../servers/pages/software.ts';
import { SAVED, settingsPage } from '../../servers/pages/settings/frame.ts';

/** Where a server's alerts go. */
export function mountAlertPages(panel: Panel): void {
  panel.serverPage({
    path: '/settings/alerts',
    show: alertsPage,
    forms: {
      async save({ call, server: { id } }, form) {
        await call('SetServerAlertWebhook', { id }, { url: (form.get('url') ?? '').trim() });
        return 'saved';
      },
      async test({ call, server: { id, alertWebhookUrl } }) {
        await call('SetServerAlertWebhook', { id }, { url: alertWebhookUrl, test: true });
        return 'test';
      },
    },
    done: {
      ...SAVED,
      test: 'A test alert is on its way: look where it should arrive. If it does not, the audit log says why.',
    },
  });
}

async function alertsPage(request: ServerRequest): Promise<Page> {
  const { id, alertWebhookUrl, type, version } = request.server;
  const { ticksAvailable } = await request.call('GetServerMetrics', { id });
  const field = {
    name: 'url',
    label: 'Webhook',
    hint: 'Of Discord, Slack, or your own program; it begins with https://. Empty: no alerts.',
    value: alertWebhookUrl,
    maxlength: 2_048,
    type: 'url' as const,
    required: false,
    more: html`placeholder="https://discord.com/api/webhooks/…"`,
  };
  const cards = html`<section class="card">
    <h2>Alerts</h2>
    <p>
      A message where you read it, when the server is too slow for its players and when it recovers, when the game hangs
      or had to be killed, and when the spend cap is reached.
    </p>
    ${
      !ticksAvailable &&
      html`<p class="note warn">
        That it is too slow can never be told of this server: ${softwareName(type)} ${version} does not tell its pace.
        Paper does in any version, and all software from Minecraft 1.20.3 on. All other alerts come.
      </p>`
    }
    ${panelForm(request, 'save', html`${lineField(filling(request, 'save'), field)}<button type="submit">Save</button>`)}
    ${alertWebhookUrl !== '' && buttonForm(request, 'test', 'Send a test alert')}
  </section>`;
  return settingsPage(request, 'Alerts', cards);
}
