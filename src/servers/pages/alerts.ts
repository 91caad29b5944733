import { isAtLeast } from '../../http/roles.ts';
import { usdText } from '../../kernel/money.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { sinceTime, spanText } from '../../web/panel/words.ts';
import { type Incident, remedyLink, remedyOf } from './remedies.ts';

/** Age limit of the failures shown. */
const RECENT_MS = 7 * DAY_MS;
const MOST_INCIDENTS = 3;
/** A warning is shown if the wallet lasts less than this. */
const SHORT_RUNWAY_MS = DAY_MS;

interface Troubles {
  /** Start of the present slowness by its metrics; null if the server is not slow. */
  slowSince: string | null;
  /** Failures, newest first. */
  incidents: readonly Incident[];
}

/** Current problems and recent failures of a server. */
export async function alertsCard(request: ServerRequest, { slowSince, incidents }: Troubles): Promise<Html> {
  const { role, now } = request;
  const open = [...stateAlerts(request, slowSince), ...(isAtLeast(role, 'owner') ? await moneyAlerts(request) : [])];
  const recent = incidents.filter(({ at }) => now - Date.parse(at ?? '') < RECENT_MS).slice(0, MOST_INCIDENTS);
  return html`<section class="card" data-live="alerts">
    <h2>Alerts</h2>
    ${open.map((each) => html`<p class="note warn">${each}</p>`)}
    ${
      open.length === 0 && recent.length === 0
        ? html`<p class="soft">None in the last seven days.</p>`
        : html`<ul class="plain">
            ${recent.map((each) => incidentItem(request, each))}
          </ul>`
    }
  </section>`;
}

function stateAlerts({ server, now }: ServerRequest, slowSince: string | null): Html[] {
  const alerts: Html[] = [];
  if (slowSince !== null)
    alerts.push(
      html`Too slow for players for ${sinceTime(Date.parse(slowSince), now)}: fewer than 15 of 20 ticks per second. A
        shorter view distance often helps: <a href="/servers/${server.id}/settings/game">settings</a>.`,
    );
  const [usedMb, quotaMb] = [Number(server.diskUsageMb), Number(server.diskQuotaEffectiveMb)];
  const isOwn = quotaMb > 0 && usedMb > quotaMb;
  if (server.quotaExceeded && !isOwn)
    alerts.push(
      html`The account’s servers and backups exceed its disk limit. Delete some
        <a href="/servers/${server.id}/files">files</a> or <a href="/servers/${server.id}/backups">backups</a>. Until
        then the server can’t start, and stops if it grows.`,
    );
  if (server.quotaExceeded && isOwn)
    alerts.push(
      html`Its files use ${server.diskUsageMb} MB of the allowed ${server.diskQuotaEffectiveMb} MB. Free some space
        <a href="/servers/${server.id}/files">in its files</a>, then start it.`,
    );
  return alerts;
}

/** Returns alerts for the paying account: a lack of money that keeps servers from waking, now or soon. */
async function moneyAlerts({ call, server }: ServerRequest): Promise<Html[]> {
  const { accountId } = server;
  const [wallet, spending] = await Promise.all([call('GetWallet', { accountId }), call('GetSpendCap', { accountId })]);
  const { action, perGbHourMicros } = spending;
  const capMicros = Number(spending.monthlyMicros);
  const runwayMs = spending.runwayMinutes * MINUTE_MS;
  const alerts: Html[] = [];
  if (capMicros > 0 && Number(spending.spentMicros) >= capMicros)
    alerts.push(
      html`This month’s spend cap, ${usdText(capMicros)}, is reached.
        ${action === 'stop' ? 'Servers stay asleep until you raise it or the month ends' : 'Servers keep running'}:
        <a href="/bill">spend cap</a>.`,
    );
  if (Number(perGbHourMicros) > 0 && Number(wallet.balanceMicros) <= 0)
    alerts.push(html`The wallet is empty. Metered servers can’t wake until it is <a href="/bill">topped up</a>.`);
  else if (runwayMs >= 0 && runwayMs < SHORT_RUNWAY_MS)
    alerts.push(
      html`With the running servers, the wallet lasts for ${spanText(runwayMs)} more: <a href="/bill">top it up</a>.`,
    );
  return alerts;
}

function incidentItem(request: ServerRequest, incident: Incident): Html {
  const { at, kind, code, summary, suggestion, evidence } = incident;
  return html`<li>
    <p>
      ${timeTag(at ?? 0)}: <strong>${KINDS[kind] ?? kind}</strong>. ${summary}
      ${suggestion !== '' && html`<small>${suggestion}</small>`} ${remedyLink(request, remedyOf(code, incident))}
    </p>
    ${
      evidence.length > 0 &&
      html`<details>
        <summary>Log lines</summary>
        <pre class="lines" tabindex="0" aria-label="Log lines">${evidence.join('\n')}</pre>
      </details>`
    }
  </li>`;
}

const KINDS: Readonly<Record<string, string>> = {
  install: 'An install failed',
  start: 'A start failed',
  crash: 'It crashed',
  stop: 'A stop was forced',
};
