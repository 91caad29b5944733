import type { ReplyOf } from '../../http/operation.ts';
import { isAtLeast } from '../../http/roles.ts';
import { usdText } from '../../kernel/money.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { sinceTime, spanText } from '../../web/panel/words.ts';
import { GetSpendCap, GetWallet } from '../../billing/api.ts';
import type { ListDiagnostics } from '../../insight/diagnostics-api.ts';

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
async function moneyAlerts({ call, server, isFree }: ServerRequest): Promise<Html[]> {
  if (isFree) return [];
  const { accountId } = server;
  const [wallet, spending] = await Promise.all([call(GetWallet, { accountId }), call(GetSpendCap, { accountId })]);
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

export type Incident = ReplyOf<typeof ListDiagnostics>['entries'][number];

/** A server's page that fixes a failure, and the text of its link. */
type Remedy = readonly [tab: string, label: string];

const MORE_RAM: Remedy = ['settings', 'Give it more RAM'];
const LESS_RAM: Remedy = ['settings', 'Give it less RAM'];
const VERSION: Remedy = ['settings/version', 'Change its version'];
const MODS: Remedy = ['mods', 'Check its mods'];
const BACKUP: Remedy = ['backups', 'Restore a backup'];
const FILES: Remedy = ['files', 'Check its files'];
const LOG: Remedy = ['console', 'Read its log'];

/** The page that fixes a failure, by code. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  out_of_memory: MORE_RAM,
  no_room_found: LESS_RAM,
  wrong_java_version: VERSION,
  wrong_minecraft_version: VERSION,
  core_unavailable: ['files', 'Upload server.jar'],
  missing_dependency: MODS,
  plugin_missing_dependency: MODS,
  incompatible_mods: MODS,
  client_only_mod: MODS,
  mod_crashed: MODS,
  watchdog: MODS,
  java_crashed: MODS,
  modpack_invalid: ['mods', 'Choose another pack'],
  world_corrupt: BACKUP,
  world_newer_version: BACKUP,
  world_migration: FILES,
  broken_datapack: FILES,
  bad_config: FILES,
  broken_jar: FILES,
  permission_denied: FILES,
  eula_not_accepted: FILES,
  wrong_port: FILES,
  missing_jar: ['files', 'Upload the missing file'],
  modpack_manual_download: ['files', 'Upload missing files'],
  disk_full: ['files', 'Free some space'],
  port_in_use: ['ports', 'Check its ports'],
  hung: LOG,
  stop_forced: LOG,
  unknown: LOG,
  crash_loop: LOG,
  start_timeout: LOG,
  install_timeout: MODS,
};

/** Failures fixed by a retry, by time, or by the operator alone. */
export const NOTHING_TO_MEND: ReadonlySet<string> = new Set([
  'cancelled',
  'download_failed',
  'image_pull_failed',
  'engine_unavailable',
  'auth_servers_down',
  'world_locked',
  'killed_by_stop',
  'read_only_disk',
  'no_room',
  'node_lost',
  'suspended',
]);

/** Codes that only name the outcome. The incident of that time has the reason. */
const OUTCOMES: ReadonlySet<string> = new Set(['crash_loop', 'start_timeout', 'install_timeout']);

/** Returns the page that fixes a failure; undefined without one. `latest`: the stored last failure. */
export function remedyOf(code: string, latest?: Pick<Incident, 'code' | 'insights'>): Remedy | undefined {
  const causes = OUTCOMES.has(code) && latest ? [latest.code, ...latest.insights.map((each) => each.code)] : [];
  const cause = causes.find((each) => !OUTCOMES.has(each) && each !== 'unknown' && each in REMEDIES);
  return REMEDIES[cause ?? code];
}

/** Returns the link to that page for readers who can use it. */
export function remedyLink(
  { server, role }: ServerRequest,
  remedy: Remedy | undefined,
  variant?: 'button second',
): Html | undefined {
  if (remedy === undefined || !isAtLeast(role, 'member')) return undefined;
  const [tab, label] = remedy;
  return html`<a ${variant && html`class="${variant}"`} href="/servers/${server.id}/${tab}">${label}</a>`;
}
