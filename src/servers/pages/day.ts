import type { ReplyOf } from '../../http/operation.ts';
import { rfc3339 } from '../../http/fields.ts';
import { isAtLeast } from '../../http/roles.ts';
import { dayStart } from '../../kernel/calendar.ts';
import { leastIdAt } from '../../kernel/ids.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { causeWords, spanText } from '../../web/panel/words.ts';
import { countText } from '../../web/text.ts';
import { ListBackups } from '../../backups/api.ts';
import type { TransitionRow } from '../machine-rows.ts';
import { type Band, type Metrics, awakeIn, bandsOf } from './charts.ts';

/** An event of the day. Its link opens its cause. */
interface Mark {
  at: number;
  tone: 'wake' | 'backup' | 'bad';
  text: Html | string;
  href: string;
}

/** Most marks that are listed. The strip shows all. */
const MOST_LISTED = 8;
/** Minutes of a day, the width of the drawing. */
const WIDTH = DAY_MS / MINUTE_MS;
const HEIGHT = 20;

/** One strip of today, from midnight to midnight (UTC): the states, and marks of wakes, failures and backups. */
export async function dayCard(request: ServerRequest, metrics: Metrics, cost: Html | false): Promise<Html> {
  const { server, role, now } = request;
  const from = dayStart(now);
  const bands = bandsOf(metrics, { from, to: now });
  const isMember = isAtLeast(role, 'member');
  const marks = [...stateMarks(request, metrics), ...(isMember ? await backupMarks(request) : [])]
    .filter(({ at }) => at >= from)
    .toSorted((one, other) => other.at - one.at);
  const wakes = marks.filter(({ tone }) => tone === 'wake').length;
  return html`<section class="card" data-live="day">
    <h2>Today</h2>
    <p class="hint">
      By UTC. Awake ${spanText(awakeIn(bands, { from, to: now }))},
      ${countText(wakes, 'wake')}${cost !== false && html`, ${cost}`}
    </p>
    ${strip(
      bands,
      from,
      marks.map(
        ({ at, tone, href }) =>
          html`<a href="${href}" tabindex="-1"
            ><path class="mark ${tone}" d="M${Math.max(4, minuteOf(at, from))} 0V${HEIGHT}"
          /></a>`,
      ),
    )}
    <div class="hours" aria-hidden="true">
      <span>0:00</span><span>6:00</span><span>12:00</span><span>18:00</span><span>24:00</span>
    </div>
    <ul class="plain marks">
      ${marks
        .slice(0, MOST_LISTED)
        .map(
          ({ at, tone, text, href }) =>
            html`<li><span class="${tone}"></span>${timeTag(at)}: <a href="${href}">${text}</a></li>`,
        )}
    </ul>
    ${
      marks.length > MOST_LISTED &&
      html`<p><a href="/servers/${server.id}/${isMember ? 'audit' : 'machine'}">See all ${marks.length}</a></p>`
    }
  </section>`;
}

/**
 * A server's states of today as a strip, with the time it was awake. `entered`: its states since midnight or before,
 * oldest first; empty if it has always been in `state`.
 */
export function dayStrip(entered: readonly TransitionRow[], state: string, now: number): Html {
  const from = dayStart(now);
  const known = entered.map(({ to, at }) => ({ state: to, since: rfc3339(at) }));
  const states = known.length > 0 ? known : [{ state, since: rfc3339(from) }];
  const span = { from, to: now };
  const bands = bandsOf({ states }, span);
  const awakeMs = awakeIn(bands, span);
  return strip(bands, from, [], `Today (UTC): ${awakeMs === 0 ? 'not awake' : `awake ${spanText(awakeMs)}`}`);
}

function strip(bands: readonly Band[], from: number, marks: readonly Html[], label?: string): Html {
  return html`<svg
    class="day"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    ${label === undefined ? html`aria-hidden="true"` : html`role="img" aria-label="${label}"`}
  >
    ${label !== undefined && html`<title>${label}</title>`}
    ${[...Map.groupBy(bands, ({ tone }) => tone)].map(
      ([tone, parts]) => html`<path class="band ${tone}" d="${parts.map((band) => box(band, from)).join('')}" />`,
    )}
    <path class="grid" d="M360 0V${HEIGHT}M720 0V${HEIGHT}M1080 0V${HEIGHT}" />
    ${marks}
  </svg>`;
}

/** Returns a band as part of an SVG path. An element for each band would take five times as many bytes. */
function box(band: Band, from: number): string {
  const [x, to] = [minuteOf(band.from, from), minuteOf(band.to, from)];
  const width = Math.max(2, to - x);
  return `M${x} 0h${width}v${HEIGHT}h-${width}z`;
}

function minuteOf(at: number, from: number): number {
  return Math.round((at - from) / MINUTE_MS);
}

/** Returns the wakes and failures among the states. Members open the audit entry, others the machine's history. */
function stateMarks({ server, role, principal }: ServerRequest, { states }: Metrics): Mark[] {
  return states.flatMap(({ state, since, cause }): Mark[] => {
    const at = Date.parse(since ?? '');
    const page = isAtLeast(role, 'member') ? `audit?action=server&after=${leastIdAt('aud', at + 1)}` : 'machine';
    const href = `/servers/${server.id}/${page}`;
    const words = causeWords(cause, principal);
    if (state === 'start_failed' || state === 'install_failed')
      return [{ at, tone: 'bad', href, text: state === 'start_failed' ? 'the start failed' : 'the install failed' }];
    if (state === 'stopping' && cause.id === 'crash') return [{ at, tone: 'bad', href, text: 'the game crashed' }];
    return state === 'starting' ? [{ at, tone: 'wake', href, text: words }] : [];
  });
}

async function backupMarks({ call, server: { id } }: ServerRequest): Promise<Mark[]> {
  const { backups }: ReplyOf<typeof ListBackups> = await call(ListBackups, { id });
  return backups
    .filter((backup) => backup.id !== 'previous')
    .map(({ createdAt, state, id: backup }) => ({
      at: Date.parse(createdAt ?? ''),
      tone: state === 'failed' ? 'bad' : 'backup',
      text: state === 'failed' ? 'a backup failed' : 'a backup',
      href: `/servers/${id}/backups#${backup}`,
    }));
}
