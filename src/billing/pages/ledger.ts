import type { ReplyOf } from '../../http/operation.ts';
import { usdText } from '../../kernel/money.ts';
import { type Html, html } from '../../web/html.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { plainName } from '../../web/text.ts';
import { kindText } from './words.ts';
import type { ListLedger } from '../api.ts';

type Entry = ReplyOf<typeof ListLedger>['entries'][number];

/** Entries per page. One more is requested, to see whether there are older ones. */
export const ENTRIES = 20;

/** Ledger entries, newest first, a page at a time. */
export function ledgerCard(
  { here }: PanelRequest,
  { entries, names, before }: { entries: Entry[]; names: ReadonlyMap<string, string>; before: string },
): Html {
  const shown = entries.slice(0, ENTRIES);
  const older = entries.length > ENTRIES ? shown.at(-1)?.id : undefined;
  return html`<section class="card flush" id="ledger">
      <h2>Ledger</h2>
      <div data-live="ledger">
        ${
          shown.length === 0
            ? html`<p class="empty">${before === '0' ? 'No entries yet.' : 'No older entries.'}</p>`
            : html`<table class="rows">
                <caption class="unseen">
                  Ledger entries, newest first
                </caption>
                <thead>
                  <tr>
                    <th scope="col">For</th>
                    <th scope="col">Server</th>
                    <th scope="col">When</th>
                    <th scope="col" class="amount">Amount</th>
                  </tr>
                </thead>
                <tbody>
                  ${shown.map((entry) => entryRow(entry, names))}
                </tbody>
              </table>`
        }
      </div>
    </section>
    ${
      (before !== '0' || older !== undefined) &&
      html`<nav class="pager" aria-label="Pages of the ledger">
        ${before !== '0' && html`<a class="button second" href="${here}#ledger">Newest entries</a>`}
        ${older !== undefined && html`<a class="button second" href="${here}?before=${older}#ledger">Older entries</a>`}
      </nav>`
    }`;
}

function entryRow({ serverId, kind, amountMicros, note, ts }: Entry, names: ReadonlyMap<string, string>): Html {
  const name = names.get(serverId);
  return html`<tr>
    <th scope="row">${kindText(kind)}${note !== '' && html`<small><bdi>${plainName(note, 256)}</bdi></small>`}</th>
    <td data-label="Server">
      ${
        name === undefined
          ? html`<span class="soft">${serverId || '–'}</span>`
          : html`<a href="/servers/${serverId}/bill"><bdi>${name}</bdi></a>`
      }
    </td>
    <td data-label="When">${ts !== null && timeTag(ts)}</td>
    <td data-label="Amount" class="amount">
      <span ${Number(amountMicros) > 0 && html`class="in"`}
        >${Number(amountMicros) > 0 && '+'}${usdText(Number(amountMicros))}</span
      >
    </td>
  </tr>`;
}
