import { dayStart, monthStart } from '../../kernel/calendar.ts';
import { usdText } from '../../kernel/money.ts';
import { lazily } from '../../kernel/once.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type AwakeSession, endOf, neverUp } from '../../servers/pages/awake.ts';
import { type Html, html } from '../../web/html.ts';
import { causeText, spanText } from '../../web/panel/words.ts';
import { clockText, countText, dateText } from '../../web/text.ts';

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

/** Only the newest days of a longer span are drawn. */
const MOST_DAYS = 62;
/** Minutes of a day: the width of a drawing. */
const WIDTH = DAY_MS / MINUTE_MS;
const HEIGHT = 20;
/** Minimum visible width. */
const LEAST_WIDTH = 6;

const TONES: Record<string, string> = { player: 'player', user: 'person', key: 'person', schedule: 'schedule' };
const LEGEND: Record<string, string> = {
  player: 'a player joined',
  person: 'you, a member or an API key',
  schedule: 'a schedule',
  other: 'an operator or automatic',
  free: 'free: failed start, or no player joined',
};

/** Most pieces that each get a description. Beyond that, each day shows only their number, to limit the page's size. */
const MOST_SAID = 120;

/** The part of a session within one day. */
interface Piece {
  session: AwakeSession;
  from: number;
  to: number;
  /** Its share of the session's cost. */
  micros: number;
}

/** The user reading the page. */
interface Reader {
  userId: string;
  /** Whether servers cost anything. */
  isCharged: boolean;
}

/** Reports whether a session was free however long it lasted: it was never up, or no player joined after the wake. */
export function isFree(session: AwakeSession): boolean {
  return session.ending === 'false_wake' || neverUp(session);
}

/**
 * Draws each day of a span as a line from midnight to midnight (UTC), newest first, with the awake times and their
 * causes.
 */
export function timeline(sessions: readonly AwakeSession[], span: Span, now: number, reader: Reader): Html {
  const first = Math.max(dayStart(span.from), dayStart(span.to - 1) - (MOST_DAYS - 1) * DAY_MS);
  const days: Html[] = [];
  for (let day = dayStart(span.to - 1); day >= first; day -= DAY_MS) {
    const pieces = sessions.map((session) => pieceOf(session, day, now)).filter(({ from, to }) => from < to);
    days.push(dayLine(day, pieces, { ...reader, isSaid: sessions.length <= MOST_SAID }));
  }
  const tones = new Set(sessions.map(toneOf));
  return html`<div class="timeline">
    <p class="hours" aria-hidden="true">
      <span>0:00</span><span>6:00</span><span>12:00</span><span>18:00</span><span>24:00 UTC</span>
    </p>
    <ol>
      ${days}
    </ol>
    <ul class="legend">
      ${Object.entries(LEGEND)
        .filter(([tone]) => tones.has(tone))
        .map(
          ([tone, text]) =>
            html`<li>
              <svg viewBox="0 0 20 20" aria-hidden="true">
                <rect class="${tone}" x="1" y="1" width="18" height="18" /></svg
              >${tone === 'free' && !reader.isCharged ? text.replace('free: ', '') : text}
            </li>`,
        )}
    </ul>
  </div>`;
}

/** Spreads a session's cost evenly over the time since it was ready. */
function pieceOf(session: AwakeSession, day: number, now: number): Piece {
  const [begin, end] = [Date.parse(session.startedAt ?? ''), endOf(session, now)];
  const [from, to] = [Math.max(begin, day), Math.min(end, day + DAY_MS)];
  const readyAt = Date.parse(session.readyAt ?? session.startedAt ?? '');
  const share = end > readyAt ? Math.max(0, to - Math.max(from, readyAt)) / (end - readyAt) : 0;
  return { session, from, to, micros: isFree(session) ? 0 : Number(session.amountMicros) * share };
}

/** `reader` decides the wording of causes. `isSaid`: whether causes are shown. */
function dayLine(day: number, pieces: readonly Piece[], reader: Reader & { isSaid: boolean }): Html {
  const awakeMs = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  const cost = reader.isCharged && usdText(Math.round(pieces.reduce((sum, { micros }) => sum + micros, 0)));
  const sum = html`${spanText(awakeMs)}${cost !== false && html` <small>${cost}</small>`}`;
  const name = days().format(day);
  const each = reader.isSaid
    ? pieces.map((piece) => pieceText(piece, reader)).join('; ')
    : `awake ${countText(pieces.length, 'time')}, ${spanText(awakeMs)} in all${cost === false ? '' : `, ${cost}`}`;
  const said = pieces.length === 0 ? html`aria-hidden="true"` : html`role="img" aria-label="${name}: ${each}"`;
  return html`<li>
    <span class="day">${name}</span>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" ${said}>
      <path class="grid" d="M360 0V${HEIGHT}M720 0V${HEIGHT}M1080 0V${HEIGHT}" />
      ${pieces.map((piece) => bar(piece, day, reader.isSaid ? reader : undefined))}
    </svg>
    <span class="sum">${pieces.length > 0 && sum}</span>
  </li>`;
}

function bar(piece: Piece, day: number, reader: Reader | undefined): Html {
  const { from, to } = piece;
  const width = Math.max(LEAST_WIDTH, (to - from) / MINUTE_MS);
  const x = Math.min((from - day) / MINUTE_MS, WIDTH - width);
  return html`<rect
    class="${toneOf(piece.session)}"
    x="${Math.round(x)}"
    y="1"
    width="${Math.round(width)}"
    height="${HEIGHT - 2}"
  >
    ${reader && html`<title data-from="${from}" data-to="${to}">${pieceText(piece, reader)}</title>`}
  </rect>`;
}

function toneOf(session: AwakeSession): string {
  return isFree(session) ? 'free' : (TONES[session.cause.kind] ?? 'other');
}

function pieceText({ session, from, to, micros }: Piece, reader: Reader): string {
  const cost = isFree(session) ? 'free' : session.plan === 'flat' ? 'flat plan' : usdText(Math.round(micros));
  const text = `${clockText(from)} to ${clockText(to)} UTC, ${causeText(session.cause, reader)}`;
  return reader.isCharged ? `${text}, ${cost}` : text;
}

const days = lazily(
  () => new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' }),
);
