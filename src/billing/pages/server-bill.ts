import type { ReplyOf } from '../../http/operation.ts';
import { usdText } from '../../kernel/money.ts';
import { type AwakeSession, awakeMsIn, endOf } from '../../servers/pages/awake.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { fact, partOf } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { causeWords, ramText, spanText, testMoneyNote } from '../../web/panel/words.ts';
import { countText } from '../../web/text.ts';
import { type Span, spanChoice, spanOf, isFree, timeline } from './timeline.ts';
import { endingText } from './words.ts';
import { GetSpendCap } from '../api.ts';
import { GetServerUsage } from '../usage-api.ts';

type Usage = ReplyOf<typeof GetServerUsage>;
type Spending = ReplyOf<typeof GetSpendCap>;

/** Sessions per part of the table. */
const ROWS = 25;

/** Shows a server's cost, its awake time and the causes of its wakes. Without prices, no cost. */
export function mountServerBill(panel: Panel): void {
  panel.serverPage({ path: '/bill', show: serverBillPage });
}

async function serverBillPage(request: ServerRequest): Promise<Page> {
  const { call, server, query, now, here } = request;
  const span = spanOf(query, now);
  const range = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  const isCharged = !request.isFree;
  const [usage, spending] = await Promise.all([
    call(GetServerUsage, { id: server.id }, range),
    isCharged && call(GetSpendCap, { accountId: server.accountId }),
  ]);
  const main = html`${spending !== false && planCard(request, usage, spending)}
    <section class="card">
      <h2>Awake time</h2>
      ${spanChoice(here, span)}
      <div data-live="awake">${figures(usage, { span, now, isCharged })} ${days(request, usage, span)}</div>
    </section>
    <section class="card flush">
      <h2>Awake sessions</h2>
      <div data-live="sessions">${sessionTable(request, usage.sessions, isCharged)}</div>
    </section>`;
  return { title: isCharged ? 'Bill' : 'Awake time', main, styles: [ASSETS.billStyle], scripts: [ASSETS.billScript] };
}

function planCard({ server }: ServerRequest, usage: Usage, spending: Spending): Html {
  const hour = usdText(Number(usage.hourMicros));
  const period = usdText(Number(usage.flatMicros));
  const { flatPaidUntil } = usage;
  return html`<section class="card" data-live="plan">
    <h2>Cost</h2>
    ${testMoneyNote(spending)}
    ${
      server.plan === 'flat'
        ? html`<p>
              Flat plan: <strong>${period}</strong> for 30 days with ${ramText(server.ramMb)} of RAM.
              ${
                flatPaidUntil === null
                  ? 'No paid period. The next start begins one.'
                  : html`Paid until ${timeTag(flatPaidUntil)}, awake or asleep.`
              }
            </p>
            <p class="hint">On the metered plan it would cost ${hour} per hour awake.</p>`
        : html`<p>
              Metered plan: <strong>${hour}</strong> per hour awake, with ${ramText(server.ramMb)} of RAM. Sleep,
              start-up, failed starts, and wakes without a player are free.
            </p>
            <p class="hint">
              On the flat plan it would cost ${period} for 30 days, awake or asleep.
              ${
                flatPaidUntil !== null &&
                html`An earlier flat period is paid until ${timeTag(flatPaidUntil)}. It applies if you switch back.`
              }
            </p>`
    }
    <p>
      <a href="/servers/${server.id}/settings">Change plan</a> ·
      <a href="/bill">Wallet and spend cap</a>
    </p>
  </section>`;
}

function figures(
  { sessions, gbHours, amountMicros }: Usage,
  { span, now, isCharged }: { span: Span; now: number; isCharged: boolean },
): Html {
  const free = sessions.filter(isFree).length;
  return html`<p class="hint">${span.name[0]?.toUpperCase()}${span.name.slice(1)}, by UTC</p>
    <dl class="figures">
      ${isCharged && fact('Cost', usdText(Number(amountMicros)))}
      ${fact('Awake', spanText(awakeMsIn(sessions, span, now)))}
      ${fact('GB of RAM × hours', String(Number(gbHours.toFixed(2))))}
      ${fact('Woken', html`${countText(sessions.length, 'time')}${isCharged && free > 0 && html` <small>${free} free</small>`}`)}
    </dl>`;
}

/** Shows the days of the span on which the server existed. */
function days({ server, principal, now, isFree: isUncharged }: ServerRequest, { sessions }: Usage, span: Span): Html {
  const madeAt = Date.parse(server.createdAt ?? '');
  if (madeAt >= span.to)
    return html`<p class="empty">The server did not exist yet. It was created ${timeTag(madeAt)}.</p>`;
  const reader = { userId: principal.userId, isCharged: !isUncharged };
  return timeline(sessions, { ...span, from: Math.max(span.from, madeAt) }, now, reader);
}

function sessionTable(request: ServerRequest, sessions: readonly AwakeSession[], isCharged: boolean): Html {
  const { principal, now } = request;
  if (sessions.length === 0) return html`<p class="empty">Not awake in this period.${isCharged && ' No cost.'}</p>`;
  const { shown, pager } = partOf(request, sessions.toReversed(), { key: 'row', most: ROWS, of: 'times' });
  return html`<table class="rows">
      <caption class="unseen">
        Awake sessions, newest first
      </caption>
      <thead>
        <tr>
          <th scope="col">Woken</th>
          <th scope="col">By</th>
          <th scope="col">For</th>
          <th scope="col">Ended</th>
          ${isCharged && html`<th scope="col" class="amount">Cost</th>`}
        </tr>
      </thead>
      <tbody>
        ${shown.map(
          (session) =>
            html`<tr>
              <th scope="row">${session.startedAt !== null && timeTag(session.startedAt)}</th>
              <td data-label="By"><span>${causeWords(session.cause, principal)}</span></td>
              <td data-label="For">${spanText(endOf(session, now) - Date.parse(session.startedAt ?? ''))}</td>
              <td data-label="Ended">${endingText(session.ending)}</td>
              ${isCharged && html`<td data-label="Cost" class="amount">${costText(session)}</td>`}
            </tr>`,
        )}
      </tbody>
    </table>
    ${pager}`;
}

function costText(session: AwakeSession): Html {
  if (isFree(session)) return html`<span class="tag good">free</span>`;
  const { plan, amountMicros, minutes, gbHours } = session;
  if (plan === 'flat') return html`<span>flat plan</span>`;
  return html`<span
    >${usdText(Number(amountMicros))}
    <small>${countText(minutes, 'minute')}, ${Number(gbHours.toFixed(2))} GB-hours</small></span
  >`;
}
