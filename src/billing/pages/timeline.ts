import { dayStart } from '../../kernel/calendar.ts';
import { usdText } from '../../kernel/money.ts';
import { lazily } from '../../kernel/once.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type AwakeSession, endOf } from '../../servers/pages/awake.ts';
import { type Html, html } from '../../web/html.ts';
import { causeText, spanText } from '../../web/panel/words.ts';
import { clockText, countText } from '../../web/text.ts';
import type { Span } from './span.ts';

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
}

/** Reports whether a session was free however long it lasted: it was never up, or no player joined after the wake. */
export function isFree({ readyAt, endedAt, ending }: AwakeSession): boolean {
  return ending === 'false_wake' || (readyAt === null && endedAt !== null);
}

interface Shown {
  now: number;
  reader: Reader;
}

/**
 * Draws each day of a span as a line from midnight to midnight (UTC), newest first, with the awake times and their
 * causes.
 */
export function timeline(sessions: readonly AwakeSession[], span: Span, { now, reader }: Shown): Html {
  const first = Math.max(dayStart(span.from), dayStart(span.to - 1) - (MOST_DAYS - 1) * DAY_MS);
  const days: Html[] = [];
  for (let day = dayStart(span.to - 1); day >= first; day -= DAY_MS) {
    const pieces = sessions.map((session) => pieceOf(session, day, now)).filter(({ from, to }) => from < to);
    days.push(dayLine(day, pieces, sessions.length <= MOST_SAID ? reader : undefined));
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
              >${text}
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

/** `reader` decides the wording of causes; undefined: causes are not shown. */
function dayLine(day: number, pieces: readonly Piece[], reader: Reader | undefined): Html {
  const awakeMs = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  const cost = usdText(Math.round(pieces.reduce((sum, { micros }) => sum + micros, 0)));
  const name = days().format(day);
  const each = reader
    ? pieces.map((piece) => pieceText(piece, reader)).join('; ')
    : `awake ${countText(pieces.length, 'time')}, ${spanText(awakeMs)} in all, ${cost}`;
  const said = pieces.length === 0 ? html`aria-hidden="true"` : html`role="img" aria-label="${name}: ${each}"`;
  return html`<li>
    <span class="day">${name}</span>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" ${said}>
      <path class="grid" d="M360 0V${HEIGHT}M720 0V${HEIGHT}M1080 0V${HEIGHT}" />
      ${pieces.map((piece) => bar(piece, day, reader))}
    </svg>
    <span class="sum">${pieces.length > 0 && html`${spanText(awakeMs)} <small>${cost}</small>`}</span>
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
  return `${clockText(from)} to ${clockText(to)} UTC, ${causeText(session.cause, reader)}, ${cost}`;
}

const days = lazily(
  () => new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' }),
);
