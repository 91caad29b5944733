import type { Bill } from './bill-costs.ts';
import { usdText } from '../../kernel/money.ts';
import { lazily } from '../../kernel/once.ts';
import { MICROS_PER_USD } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';
import { lastsText } from './words.ts';

const months = lazily(() => new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }));

/** The balance, the current cost, and how long the balance lasts. */
export function walletCard({ wallet, spending }: Bill, now: number): Html {
  const { burnMicrosPerHour, runwayMinutes, spentMicros } = spending;
  const figure = (name: string, value: string) =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<section class="card" data-live="wallet">
    <h1>Bill</h1>
    <dl class="figures">
      ${figure('Balance', usdText(Number(wallet.balanceMicros)))}
      ${figure('Cost per hour now', usdText(Number(burnMicrosPerHour)))}
      ${figure('Lasts', runwayMinutes === -1 ? '–' : lastsText(runwayMinutes))}
      ${figure(`Spent in ${months().format(now)}`, usdText(Number(spentMicros)))}
    </dl>
    <p>${walletText(Number(wallet.balanceMicros), runwayMinutes)}</p>
  </section>`;
}

function walletText(balanceMicros: number, runwayMinutes: number): string {
  if (runwayMinutes === 0) {
    return 'The wallet can’t pay for the running servers. Players are warned, then the servers save and go to sleep.';
  }
  if (runwayMinutes > 0) return 'If the running servers keep running. Sleeping servers are free.';
  if (balanceMicros > 0) return 'Nothing is running. Sleeping servers are free.';
  return 'Paid servers stay asleep until you top up. Then they can start immediately.';
}

export function topUpCard(request: PanelRequest, { spending: { checkout } }: Bill): Html {
  if (checkout === '') {
    return html`<section class="card">
      <h2>Top up</h2>
      <p>Online payment is off. Ask your administrator for credit.</p>
    </section>`;
  }
  const form = html`${lineField(filling(request, 'top-up'), {
      name: 'amountUsd',
      label: 'Amount in US dollars',
      hint: 'Whole dollars, from 1 to 1000.',
      value: '10',
      maxlength: 4,
      more: html`inputmode="numeric"`,
    })} <button type="submit">Top up…</button>`;
  return html`<section class="card">
    <h2>Top up</h2>
    ${checkout === 'test' && html`<p class="note">Test mode: no real money moves.</p>`}
    ${panelForm(request, 'top-up', form)}
  </section>`;
}

/** The cap, its used part, and the consequence of reaching it. */
export function capCard(request: PanelRequest, { spending }: Bill): Html {
  const capMicros = Number(spending.monthlyMicros);
  const spentMicros = Number(spending.spentMicros);
  const filled = filling(request, 'cap');
  const form = html`${lineField(filled, {
      name: 'monthlyUsd',
      label: 'Monthly limit in US dollars',
      hint: 'Per calendar month, UTC.',
      value: capMicros === 0 ? '' : String(capMicros / MICROS_PER_USD),
      maxlength: 16,
      more: html`inputmode="decimal"`,
    })}
    ${radioField(filled, {
      name: 'action',
      label: 'When the limit is reached',
      value: spending.action,
      options: [
        ['notify', 'Notify me (e-mail and webhook). Keep servers running.'],
        [
          'stop',
          'Notify me and put servers to sleep until next month. Flat servers keep running while their period is paid.',
        ],
      ],
    })} <button type="submit">${capMicros === 0 ? 'Set the cap' : 'Change the cap'}</button>`;
  return html`<section class="card">
    <h2>Spend cap</h2>
    <div data-live="cap">
      ${
        capMicros === 0
          ? html`<p>No limit set.</p>`
          : html`<p id="used">
                <strong>${usdText(spentMicros)}</strong> of ${usdText(capMicros)} spent this month.
                ${spentMicros >= capMicros && (spending.action === 'stop' ? 'Cap reached: servers are asleep.' : 'Cap reached.')}
              </p>
              <progress
                aria-labelledby="used"
                max="${capMicros}"
                value="${Math.min(spentMicros, capMicros)}"
              ></progress>`
      }
    </div>
    ${panelForm(request, 'cap', form)} ${capMicros > 0 && buttonForm(request, 'no-cap', 'Remove the cap')}
  </section>`;
}
