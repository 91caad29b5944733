import { dayStart } from '../../kernel/calendar.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type AwakeSession, endOf } from '../../servers/pages/awake.ts';
import { type Html, html } from '../../web/html.ts';
import { spanText } from '../../web/panel/words.ts';
import type { Span } from './span.ts';

/** Of the days of a longer span the newest are drawn. */
const MOST_DAYS = 62;
/** Minutes of a day, the width of its drawing. */
const WIDTH = DAY_MS / MINUTE_MS;
const HEIGHT = 20;
/** As narrow as can still be seen. */
const LEAST_WIDTH = 6;

const TONES: Record<string, string> = { player: 'player', user: 'person', key: 'person', schedule: 'schedule' };
const LEGEND: Record<string, string> = {
  player: 'a player joined',
  person: 'you, a member or a key',
  schedule: 'a schedule',
  other: 'the operator, or by itself',
  free: 'free: it was not up, or nobody came in',
};

/** Part of a session that lies in one day. */
interface Piece {
  session: AwakeSession;
  from: number;
  to: number;
}

/** Whether a session was free whatever it lasted: it was never up, or a wake after which nobody came in. */
export function isFree({ readyAt, endedAt, ending }: AwakeSession): boolean {
  return ending === 'false_wake' || (readyAt === null && endedAt !== null);
}

/** Each day of a span as a line from midnight to midnight (UTC), newest first, with the times the server was awake and why. */
export function timeline(sessions: readonly AwakeSession[], span: Span, now: number): Html {
  const first = Math.max(dayStart(span.from), dayStart(span.to - 1) - (MOST_DAYS - 1) * DAY_MS);
  const days: Html[] = [];
  for (let day = dayStart(span.to - 1); day >= first; day -= DAY_MS) {
    const piece = (session: AwakeSession): Piece => ({
      session,
      from: Math.max(Date.parse(session.startedAt ?? ''), day),
      to: Math.min(endOf(session, now), day + DAY_MS),
    });
    days.push(
      dayLine(
        day,
        sessions.map(piece).filter(({ from, to }) => from < to),
      ),
    );
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

function dayLine(day: number, pieces: readonly Piece[]): Html {
  const awakeMs = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  const name = DAY.format(day);
  const said =
    pieces.length === 0
      ? html`aria-hidden="true"`
      : html`role="img" aria-label="${name}: ${pieces.map(pieceText).join('; ')}"`;
  return html`<li>
    <span class="day">${name}</span>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" ${said}>
      <path class="grid" d="M360 0V${HEIGHT}M720 0V${HEIGHT}M1080 0V${HEIGHT}" />
      ${pieces.map((piece) => bar(piece, day))}
    </svg>
    <span class="sum">${pieces.length > 0 && spanText(awakeMs)}</span>
  </li>`;
}

function bar(piece: Piece, day: number): Html {
  const width = Math.max(LEAST_WIDTH, (piece.to - piece.from) / MINUTE_MS);
  const x = Math.min((piece.from - day) / MINUTE_MS, WIDTH - width);
  return html`<rect
    class="${toneOf(piece.session)}"
    x="${Math.round(x)}"
    y="1"
    width="${Math.round(width)}"
    height="${HEIGHT - 2}"
  >
    <title>${pieceText(piece)}</title>
  </rect>`;
}

function toneOf(session: AwakeSession): string {
  return isFree(session) ? 'free' : (TONES[session.cause.kind] ?? 'other');
}

function pieceText({ session, from, to }: Piece): string {
  return `${clockText(from)} to ${clockText(to)}, ${LEGEND[toneOf(session)]}`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

function clockText(at: number): string {
  return CLOCK.format(at);
}
