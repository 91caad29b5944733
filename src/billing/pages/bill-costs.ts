import type { ReplyOf } from '../../http/operation.ts';
import { usdText } from '../../kernel/money.ts';
import { type Html, html } from '../../web/html.ts';
import { addressOf } from '../../web/panel/form.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { stateTag } from '../../web/panel/state.ts';
import { ramText } from '../../web/panel/words.ts';
import { plainName } from '../../web/text.ts';
import { flatMicros, hourlyMicros } from '../prices.ts';
import type { GetSpendCap, GetWallet } from '../api.ts';
import type { GetCapacity } from '../capacity-api.ts';
import type { GetAccountLimits } from '../limits-api.ts';
import type { ListRegions } from '../regions.ts';
import type { ListServers } from '../../servers/api/list-servers.ts';

const HOURS_A_PERIOD = 720;
const MB_PER_GB = 1_024;

/** The position of a page of servers in the list. */
interface Place {
  request: PanelRequest;
  isFirst: boolean;
  /** The start of the next page; '' on the last. */
  next: string;
}

/** The cost of each server, awake and now. */
export function costsCard({ servers, spending }: Bill, place: Place): Html {
  const now = new Map(spending.awake.map(({ serverId, microsPerHour }) => [serverId, Number(microsPerHour)]));
  return html`<section class="card flush" data-live="costs">
    <h2>Server costs</h2>
    ${
      servers.length === 0
        ? html`<p class="empty">
            ${place.isFirst ? html`You have no servers yet. <a href="/servers">Create one</a>. It is free while asleep.` : 'No more entries.'}
          </p>`
        : html`<table class="rows">
            <caption class="unseen">
              Your servers and their costs
            </caption>
            <thead>
              <tr>
                <th scope="col">Server</th>
                <th scope="col">State</th>
                <th scope="col">RAM</th>
                <th scope="col">Plan</th>
                <th scope="col">Per hour now</th>
              </tr>
            </thead>
            <tbody>
              ${servers.map(
                (server) =>
                  html`<tr>
                    <th scope="row">
                      <a href="/servers/${server.id}/bill"><bdi>${plainName(server.name) || server.id}</bdi></a>
                    </th>
                    <td data-label="State">${stateTag(server.state)}</td>
                    <td data-label="RAM">${ramText(server.ramMb)}</td>
                    <td data-label="Plan"><span>${planText(server, spending)}</span></td>
                    <td data-label="Now">${usdText(now.get(server.id) ?? 0)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    ${
      (!place.isFirst || place.next !== '') &&
      html`<nav class="pager" aria-label="Pages of the servers">
        ${!place.isFirst && html`<a class="button second" href="${addressAt(place, '')}">First servers</a>`}
        ${place.next !== '' && html`<a class="button second" href="${addressAt(place, place.next)}">More servers</a>`}
      </nav>`
    }
  </section>`;
}

function addressAt({ request }: Place, servers: string): string {
  const query = new URLSearchParams(request.query);
  if (servers === '') query.delete('servers');
  else query.set('servers', servers);
  return addressOf({ ...request, query });
}

function planText({ plan, ramMb }: Bill['servers'][number], spending: Bill['spending']): string {
  if (plan === 'flat') return `flat: ${usdText(flatMicros(Number(spending.perGbMonthMicros), ramMb))} for 30 days`;
  return `metered: ${usdText(hourlyMicros(Number(spending.perGbHourMicros), ramMb))} an hour awake`;
}

/** Explains both plans, with the prices of this installation. */
export function plansCard({ spending }: Bill): Html {
  const perHour = Number(spending.perGbHourMicros);
  const perMonth = Number(spending.perGbMonthMicros);
  const evenHours = perHour === 0 ? 0 : Math.ceil(perMonth / perHour);
  return html`<section class="card">
    <h2>The two plans</h2>
    <h3>Metered: ${usdText(perHour)} per GB of RAM and hour awake</h3>
    <p>
      Billed per full minute while the game is ready. Sleep, start-up, failed starts, and wakes without a player are
      free.
    </p>
    <h3>Flat: ${usdText(perMonth)} per GB of RAM for 30 days</h3>
    <p>
      The first start pays for 30 days, awake or asleep. The next period begins with the next start, or immediately if
      the server is awake. More RAM during a paid period costs the difference for the remaining days. Less RAM is not
      refunded.
      ${
        evenHours > 0 &&
        evenHours < HOURS_A_PERIOD &&
        html`Cheaper for servers awake more than ${evenHours} hours in 30 days.`
      }
      Choose a server’s plan in its settings.
    </p>
  </section>`;
}

/** The account's limits and the capacity left. */
export function limitsCard({ limits, capacity, regions }: Pick<Bill, 'limits' | 'capacity' | 'regions'>): Html {
  const most = capacity.maxServersPerAccount;
  return html`<section class="card" data-live="limits">
    <h2>Limits and capacity</h2>
    <dl class="facts">
      ${fact('Total RAM', `at most ${ramText(limits.maxRamMb)}`)}
      ${fact('Servers', most <= 0 ? 'unlimited' : `at most ${most}`)}
      ${regions.map(({ label, available, capacity: room }) =>
        fact(
          label,
          available
            ? html`${ramText(freeMb(room))} of RAM free <small>of ${gbText(room.ramUsableMb)}</small>`
            : html`<span class="tag bad">starts paused</span>`,
        ),
      )}
      ${fact('Disk', html`${gbText(capacity.diskFreeMb)} free <small>of ${gbText(capacity.diskTotalMb)}</small>`)}
    </dl>
  </section>`;
}

function freeMb({ ramUsableMb, ramUsedMb }: Bill['capacity']): number {
  return Math.max(0, Number(ramUsableMb) - Number(ramUsedMb));
}

function gbText(mb: string): string {
  return `${Math.floor(Number(mb) / MB_PER_GB)} GB`;
}

/** The data of the bill page, from the API. */
export interface Bill {
  wallet: ReplyOf<typeof GetWallet>;
  spending: ReplyOf<typeof GetSpendCap>;
  servers: ReplyOf<typeof ListServers>['servers'];
  limits: ReplyOf<typeof GetAccountLimits>;
  capacity: ReplyOf<typeof GetCapacity>;
  regions: ReplyOf<typeof ListRegions>['regions'];
}
