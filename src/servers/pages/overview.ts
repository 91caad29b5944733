import { softwareText } from '../../game/cores.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { isAtLeast } from '../../http/roles.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { dayStart, monthStart } from '../../kernel/calendar.ts';
import { usdText } from '../../kernel/money.ts';
import type { Servers } from '../servers.ts';
import type { Addresses } from '../api/addresses.ts';
import { alertsCard } from './alerts.ts';
import { awakeMsIn } from './awake.ts';
import { chartsCard, hoursShown } from './charts.ts';
import { dayCard } from './day.ts';
import { obstaclesTo } from './obstacles.ts';
import { type ListEntry, entryHtml } from './list-entry.ts';
import { addressNotes, agreeToEula, commandForms, eulaCard, face, tryJoinForm } from './parts.ts';
import { WENT_BACK, coreText, goBack } from './way-back.ts';
import { whatNow } from './what-now.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText, spanText } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { GetServerUsage } from '../../billing/usage-api.ts';
import { ListDiagnostics } from '../../insight/diagnostics-api.ts';
import { GetServerMetrics } from '../../insight/metrics-api.ts';
import { GetPlayerLists } from '../../players/api.ts';
import { KeepAwake } from '../api/lifecycle.ts';
import { InspectMachine } from '../api/machine.ts';

type Usage = ReplyOf<typeof GetServerUsage>;

interface OverviewSettings {
  servers: Servers;
  /** Whether any player may wake the server by joining. */
  playersWake: (serverId: string) => boolean;
  /** Default for servers without an idle time of their own. */
  idleTimeoutMinutes: number;
  /** Returns the server's entry in server lists; undefined if it has none. */
  listEntry: (serverId: string) => Promise<ListEntry | undefined>;
  addresses: Addresses;
}

/** A server's front page: its present state, and what happens next. */
export function mountOverview(panel: Panel, settings: OverviewSettings): void {
  panel.serverPage({
    path: '',
    show: (request) => overviewPage(request, settings),
    forms: {
      // The buttons in the head of a server's pages. This page shows why a command was refused.
      ...commandForms(({ server }: ServerRequest) => server.id, backOf),
      async agree({ call, server }) {
        await agreeToEula(call, server.accountId);
        return 'agreed';
      },
      async 'keep-awake'({ call, server }, form) {
        const minutes = Number(form.get('minutes') ?? '');
        await call(KeepAwake, { id: server.id }, { minutes });
        return minutes > 0 ? 'kept' : 'let';
      },
      back: goBack,
    },
    done: {
      ...WENT_BACK,
      kept: 'Kept awake, even without players.',
      let: 'Keep-awake cancelled.',
      agreed: 'Thank you. The server can start now.',
      joined: 'You joined. Copy its address above, and open it in Minecraft.',
    },
  });
}

/** The path and query of a page below a server's. */
const BELOW = /^(?:\/[a-z]+)+(?:\?[\w%+=&.*-]*)?$/;

/** Returns the page to go back to, which must be one of this server. */
function backOf({ server }: ServerRequest, form: Form): string {
  const top = `/servers/${server.id}`;
  const back = form.get('back') ?? '';
  return back.startsWith(top) && BELOW.test(back.slice(top.length)) ? back : top;
}

async function overviewPage(request: ServerRequest, settings: OverviewSettings): Promise<Page> {
  const { server, role, call, now } = request;
  const { id } = server;
  const isOwner = isAtLeast(role, 'owner');
  const [metrics, { entries: incidents }] = await Promise.all([
    call(GetServerMetrics, { id }, { hours: Math.max(24, hoursShown(request)) }),
    call(ListDiagnostics, { id }),
  ]);
  const asleep = server.state === 'hibernated' ? [{ id, role }] : [];
  const [machine, obstacles, eula, alerts, month, today, playing, entry] = await Promise.all([
    call(InspectMachine, { id }),
    obstaclesTo(asleep, settings.servers, settings.playersWake),
    eulaCard(request),
    alertsCard(request, { slowSince: metrics.slowSince, incidents }),
    isOwner ? usageSince(request, monthStart(now)) : undefined,
    isOwner ? usageSince(request, dayStart(now)) : undefined,
    players(request),
    settings.listEntry(id),
  ]);
  const cost =
    today !== undefined &&
    !request.isFree &&
    html`<a href="/servers/${id}/bill">${usdText(Number(today.amountMicros))}</a>`;
  const main = html`${eula}
    <div class="columns">
      <div>
        <section class="card" data-live="now">
          <h2>Now</h2>
          ${whatNow(request, machine, {
            ...settings,
            playersWake: settings.playersWake(id),
            obstacle: obstacles.get(id),
            latest: incidents[0],
          })}
          ${server.state === 'running' && figures(metrics)}
        </section>
        ${entryCard(request, entry, settings.addresses.atHome(id))}
      </div>
      <div>
        <section class="card" data-live="players">
          <h2>Players</h2>
          ${playing}
        </section>
        ${alerts} ${month && usageCard(month, request)} ${factsCard(request)}
      </div>
    </div>
    ${await dayCard(request, metrics, cost)} ${chartsCard(request, metrics)}`;
  return {
    title: server.name,
    main,
    styles: [ASSETS.chartsStyle, ASSETS.settingsStyle],
    libraries: [ASSETS.uplot],
    scripts: [ASSETS.chartsScript],
  };
}

function factsCard({ server, isFree }: ServerRequest): Html {
  return html`<section class="card" data-live="facts">
    <dl class="facts">
      ${fact('Software', softwareFact(server))} ${fact('RAM', ramText(server.ramMb))}
      ${!isFree && fact('Plan', server.plan)}
      ${fact('Files', server.diskUsageKnown ? `${server.diskUsageMb} MB` : 'not measured yet')}
      ${fact('Created', timeTag(server.createdAt ?? 0))}
    </dl>
  </section>`;
}

/** Returns the software, with its change at the next start, or the build that was taken back. */
function softwareFact({ update, refusedBuild, ...server }: ServerRequest['server']): Html {
  const note =
    update !== null
      ? `updated from ${coreText(update.from)}`
      : refusedBuild !== '' && `build ${refusedBuild} failed and was taken back`;
  return html`${update === null ? softwareText(server) : coreText(update.to)} ${note && html`<small>${note}</small>`}`;
}

/** Shows what friends see in their server list; undefined for a private backend, which is in none. */
function entryCard(request: ServerRequest, entry: ListEntry | undefined, atHome: string | undefined): Html | undefined {
  const { server, role } = request;
  const { id, name, addr } = server;
  if (addr === '') return undefined;
  return html`<section class="card" data-live="entry">
    <h2>In the server list</h2>
    ${entry !== undefined && entryHtml(name, `${BROWSER_PREFIX}/v1/servers/${id}/icon`, entry)}
    ${addressNotes(addr, atHome)}
    ${isAtLeast(role, 'member') && html`<p><a href="/servers/${id}/settings/description">Change the description or icon</a></p>`}
    ${tryJoinForm(request)}
  </section>`;
}

function figures(metrics: ReplyOf<typeof GetServerMetrics>): Html | undefined {
  const { tps, mspt, memUsedMb, memLimitMb, cpuPercent, ticksAvailable } = metrics;
  if (memLimitMb === 0 && tps === 0) return undefined;
  return html`<dl class="facts">
    ${!ticksAvailable && fact('Ticks', html`not available <small>this software reports it from 1.20.3</small>`)}
    ${tps > 0 && fact('Ticks', html`${tps.toFixed(1)} per s <small>${mspt.toFixed(1)} ms each</small>`)}
    ${memLimitMb > 0 && fact('Memory', html`${Math.round(memUsedMb)} MB <small>of ${Math.round(memLimitMb)} MB</small>`)}
    ${cpuPercent >= 0 && fact('Processor', `${Math.round(cpuPercent)} %`)}
  </dl>`;
}

async function players({ call, server }: ServerRequest): Promise<Html> {
  if (server.state !== 'running')
    return html`<p class="soft">
      No players: the server is ${server.state === 'hibernated' ? 'asleep' : 'not running'}.
    </p>`;
  const { online } = await call(GetPlayerLists, { id: server.id });
  if (online.length === 0) return html`<p class="soft">No one is online.</p>`;
  return html`<ul class="heads">
    ${online.map((name) => html`<li>${face(name)}<bdi>${plainName(name)}</bdi></li>`)}
  </ul>`;
}

function usageSince({ call, server }: ServerRequest, from: number): Promise<Usage> {
  return call(GetServerUsage, { id: server.id }, { from: new Date(from).toISOString() });
}

function usageCard(month: Usage, request: ServerRequest): Html {
  return html`<section class="card" data-live="usage">
    <h2>Awake</h2>
    <dl class="facts">${fact('This month', usedText(month, monthStart(request.now), request))}</dl>
    ${
      month.sessions.length > 0 &&
      html`<h3>Wakes this month</h3>
        <p>${wakersText(month.sessions, request.principal)}.</p>`
    }
  </section>`;
}

function usedText({ sessions, amountMicros }: Usage, from: number, { now, isFree }: ServerRequest): Html {
  const cost = !isFree && html` <small>${usdText(Number(amountMicros))}</small>`;
  return html`${spanText(awakeMsIn(sessions, { from, to: now }, now))}${cost}`;
}

type Cause = ReplyOf<typeof GetServerUsage>['sessions'][number]['cause'];

/** Most names listed. */
const MOST_NAMED = 6;

/** Counts a server's wakes by their causes: `Steve 12 times, a schedule 30 times`. */
function wakersText(sessions: readonly { cause: Cause }[], reader: { userId: string }): Html[] {
  const counts = new Map<string, { who: Html | string; count: number }>();
  for (const { cause } of sessions) {
    const { key, who } = wakerOf(cause, reader);
    counts.set(key, { who, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  const wakers = [...counts.values()].toSorted((a, b) => b.count - a.count);
  const rest = wakers.slice(MOST_NAMED).reduce((sum, { count }) => sum + count, 0);
  const named = [...wakers.slice(0, MOST_NAMED), ...(rest > 0 ? [{ who: 'others', count: rest }] : [])];
  return named.map(({ who, count }, nth) => html`${nth > 0 && ', '}${who} ${timesText(count)}`);
}

function wakerOf({ kind, id }: Cause, { userId }: { userId: string }): { key: string; who: Html | string } {
  switch (kind) {
    case 'player':
      return { key: `player ${id}`, who: html`<bdi>${plainName(id)}</bdi>` };
    case 'user':
      return id === userId ? { key: 'you', who: 'you' } : { key: kind, who: 'others in the panel' };
    case 'key':
      return { key: kind, who: 'API keys' };
    case 'schedule':
      return { key: kind, who: 'a schedule' };
    case 'operator':
      return { key: kind, who: 'the operator' };
    default:
      return { key: 'system', who: 'automatic restart after a crash or loss' };
  }
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
