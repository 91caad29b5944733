import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
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

function alertsPage(request: ServerRequest): Page {
  const { alertWebhookUrl } = request.server;
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
    ${panelForm(request, 'save', html`${lineField(filling(request, 'save'), field)}<button type="submit">Save</button>`)}
    ${alertWebhookUrl !== '' && buttonForm(request, 'test', 'Send a test alert')}
  </section>`;
  return settingsPage(request, 'Alerts', cards);
}
