import { softwareName } from '../../game/cores.ts';
import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { SAVED, settingsPage } from '../../servers/pages/settings/frame.ts';
import { GetServerMetrics } from '../metrics-api.ts';
import { SetServerAlertWebhook } from '../../servers/api/settings.ts';

/** The alert settings of a server. */
export function mountAlertPages(panel: Panel): void {
  panel.serverPage({
    path: '/settings/alerts',
    show: alertsPage,
    forms: {
      async save({ call, server: { id } }, form) {
        await call(SetServerAlertWebhook, { id }, { url: (form.get('url') ?? '').trim() });
        return 'saved';
      },
      async test({ call, server: { id, alertWebhookUrl } }) {
        await call(SetServerAlertWebhook, { id }, { url: alertWebhookUrl, test: true });
        return 'test';
      },
    },
    done: {
      ...SAVED,
      test: 'Test alert sent. If it doesn’t arrive, the audit log shows why.',
    },
  });
}

async function alertsPage(request: ServerRequest): Promise<Page> {
  const { id, alertWebhookUrl, type, version } = request.server;
  const { ticksAvailable } = await request.call(GetServerMetrics, { id });
  const field = {
    name: 'url',
    label: 'Webhook',
    hint: 'A Discord, Slack or custom URL that starts with https://. Empty for no alerts.',
    value: alertWebhookUrl,
    maxlength: 2_048,
    type: 'url' as const,
    required: false,
    more: html`placeholder="https://discord.com/api/webhooks/…"`,
  };
  const cards = html`<section class="card">
    <h2>Alerts</h2>
    <p>
      Send a message when the server is too slow and when it recovers, when the game hangs or is killed, and when the
      spend cap is reached. For other events, such as players and backups, use
      <a href="/profile/webhooks?server=${id}">webhooks</a>.
    </p>
    ${
      !ticksAvailable &&
      html`<p class="note warn">
        Slow ticks can’t be detected on this server: ${softwareName(type)} ${version} doesn’t report its tick rate.
        Paper, Forge and NeoForge report it in every version, other software from Minecraft 1.20.3. All other alerts
        work.
      </p>`
    }
    ${panelForm(request, 'save', html`${lineField(filling(request, 'save'), field)}<button type="submit">Save</button>`)}
    ${alertWebhookUrl !== '' && buttonForm(request, 'test', 'Send a test alert')}
  </section>`;
  return settingsPage(request, 'Alerts', cards);
}
