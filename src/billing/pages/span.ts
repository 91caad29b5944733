import { dayStart, monthStart } from '../../kernel/calendar.ts';
import { DAY_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import { dateText } from '../../web/text.ts';

/** The time span of a bill, from `from` until before `to` (epoch ms). */
export interface Span {
  /** `month`, `last`, `7`, `30`; '' if the user chose the days. */
  key: string;
  /** Its name for the middle of a sentence: `this month`. */
  name: string;
  from: number;
  to: number;
}

/** The longest span that fits one page. */
const MOST_MS = 366 * DAY_MS;
const CHOICES = [
  ['month', 'This month'],
  ['last', 'Last month'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
] as const;

/**
 * Returns the requested span: `range`, or the days `from` to `to`, both inclusive; otherwise this month. Months and
 * days are in UTC.
 */
export function spanOf(query: URLSearchParams, now: number): Span {
  const [first, last] = [dayOf(query.get('from')), dayOf(query.get('to'))];
  if (first !== undefined && last !== undefined && first <= last && last - first < MOST_MS && first <= now) {
    return {
      key: '',
      name: `${dateText(first)} to ${dateText(last)}`,
      from: first,
      to: Math.min(last + DAY_MS, now + 1),
    };
  }
  const range = query.get('range') ?? '';
  if (range === 'last') return { key: range, name: 'last month', from: monthStart(now, 1), to: monthStart(now) };
  if (range === '7' || range === '30') {
    const from = dayStart(now) - (Number(range) - 1) * DAY_MS;
    return { key: range, name: `the last ${range} days`, from, to: now + 1 };
  }
  return { key: 'month', name: 'this month', from: monthStart(now), to: now + 1 };
}

/** The choice of a span: common ones, or any days. */
export function spanChoice(here: string, span: Span): Html {
  const days = [span.from, span.to - 1].map((at) => new Date(at).toISOString().slice(0, 10));
  return html`<nav aria-label="Span of time">
      <ul class="chips">
        ${CHOICES.map(
          ([key, name]) =>
            html`<li>
              <a
                href="${here}${key === 'month' ? '' : `?range=${key}`}"
                ${key === span.key && html`aria-current="true"`}
                >${name}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    <details ${span.key === '' && html`open`}>
      <summary>Other days</summary>
      <form class="side" method="get" action="${here}">
        ${dayField('from', 'First day (UTC)', days[0])} ${dayField('to', 'Last day (UTC)', days[1])}
        <button class="second" type="submit">Show</button>
      </form>
    </details>`;
}

function dayField(name: string, label: string, day = ''): Html {
  return html`<div class="field">
    <label for="span-${name}">${label}</label>
    <input id="span-${name}" name="${name}" type="date" value="${day}" required />
  </div>`;
}

/** Returns the start of a day from a form: `2026-11-20`. */
function dayOf(text: string | null): number | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(at) ? undefined : at;
}
