import type { ReplyOf } from '../../http/operation.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { chipLinks, rowTable } from '../../web/panel/parts.ts';
import { toneOf } from '../../web/panel/state.ts';
import { timeTag } from '../../web/panel/time.ts';
import { spanText } from '../../web/panel/words.ts';
import type { GetServerMetrics } from '../../insight/metrics-api.ts';

export type Metrics = ReplyOf<typeof GetServerMetrics>;
type Sample = Metrics['series'][number];

const CHARTS = [
  ['players', 'Players'],
  ['ticks', 'Ticks'],
  ['memory', 'Memory'],
  ['processor', 'Processor'],
] as const;

/** The spans of the charts in hours, each with its name and the length of a row of its table. */
const SPANS = [
  [1, '1 hour', 10 * MINUTE_MS],
  [24, '24 hours', HOUR_MS],
  [168, '7 days', DAY_MS],
] as const;
const DEFAULT_HOURS = 24;

const BANDS = [
  ['good', 'awake'],
  ['warn', 'starting or stopping'],
  ['calm', 'asleep'],
  ['bad', 'failed'],
] as const;

/** Returns the span of the charts that a request asks for, in hours. */
export function hoursShown({ query }: ServerRequest): number {
  const asked = Number(query.get('hours'));
  return SPANS.some(([hours]) => hours === asked) ? asked : DEFAULT_HOURS;
}

/** Charts of a span of time with the states behind the lines, and the same figures as a table. */
export function chartsCard(request: ServerRequest, metrics: Metrics): Html {
  const { server, here, now } = request;
  const shown = hoursShown(request);
  const [, , rowMs] = SPANS.find(([hours]) => hours === shown) ?? SPANS[1];
  const from = now - shown * HOUR_MS;
  const pathOf = (hours: number) => `${here}${hours === DEFAULT_HOURS ? '' : `?hours=${hours}`}#charts`;
  const series = metrics.series.filter(({ ts }) => Date.parse(ts) > from);
  return html`<section class="card" id="charts">
    <h2>Usage</h2>
    ${chipLinks(
      'Span of the charts',
      pathOf(shown),
      SPANS.map(([hours, name]) => [pathOf(hours), name]),
    )}
    <div
      class="charts"
      data-charts="${BROWSER_PREFIX}/v1/servers/${server.id}/metrics?hours=${shown}"
      data-hours="${shown}"
      data-keep
      hidden
    >
      ${CHARTS.filter(([figure]) => figure !== 'ticks' || metrics.ticksAvailable).map(
        ([figure, label]) =>
          html`<figure>
            <figcaption>${label} <output></output></figcaption>
            <div class="plot" data-figure="${figure}" role="img" aria-label="${label}, as in the table below"></div>
          </figure>`,
      )}
      <ul class="bands">
        ${BANDS.map(([tone, text]) => html`<li><span class="${tone}"></span>${text}</li>`)}
      </ul>
    </div>
    <div data-live="hours">${figureTable(series, rowMs, bandsOf(metrics, { from, to: now }))}</div>
  </section>`;
}

/** A state that a server entered. */
type Entered = Omit<Metrics['states'][number], 'cause'>;

/** A part of a span of time in which a server had one state. */
export interface Band {
  tone: string;
  from: number;
  to: number;
}

/** Returns the states within a span of time (epoch ms), as far back as they are known. */
export function bandsOf({ states }: { states: readonly Entered[] }, span: { from: number; to: number }): Band[] {
  const sinces = states.map(({ since }) => Date.parse(since ?? ''));
  return states
    .map(({ state }, nth) => ({
      tone: toneOf(state),
      from: Math.max(span.from, sinces[nth] ?? 0),
      to: Math.min(span.to, sinces[nth + 1] ?? span.to),
    }))
    .filter(({ from, to }) => from < to);
}

/** Returns how long a server was awake in a span. */
export function awakeIn(bands: readonly Band[], span: { from: number; to: number }): number {
  return bands
    .filter(({ tone }) => tone === 'good')
    .reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)), 0);
}

/** The charts' data in rows, for readers who cannot see them or run no script. */
function figureTable(series: readonly Sample[], rowMs: number, bands: readonly Band[]): Html {
  const rows = Map.groupBy(series, ({ ts }) => Math.floor(Date.parse(ts) / rowMs) * rowMs);
  if (rows.size === 0) return html`<p class="soft">No data yet.</p>`;
  return html`<details>
    <summary>${rowMs === HOUR_MS ? 'Hourly table' : 'Table'}</summary>
    ${rowTable(
      'Usage, newest first',
      ['From', 'Awake', 'Most players', 'Ticks', 'Memory', 'Processor'],
      [...rows].toReversed().map(([from, samples]) => row(samples, { from, to: from + rowMs }, bands)),
    )}
  </details>`;
}

function row(samples: readonly Sample[], span: { from: number; to: number }, bands: readonly Band[]): Html {
  const mean = (of: (sample: Sample) => number, isKnown: (value: number) => boolean) => {
    const known = samples.map(of).filter(isKnown);
    return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const tps = mean(
    ({ tps }) => tps,
    (value) => value > 0,
  );
  const memory = mean(
    ({ memUsedMb }) => memUsedMb,
    (value) => value > 0,
  );
  const processor = mean(
    ({ cpuPercent }) => cpuPercent,
    (value) => value >= 0,
  );
  return html`<tr>
    <th scope="row">${timeTag(span.from)}</th>
    <td data-label="Awake">${spanText(awakeIn(bands, span))}</td>
    <td data-label="Players">${Math.max(...samples.map(({ players }) => players))}</td>
    <td data-label="Ticks">${tps === undefined ? '–' : `${tps.toFixed(1)} per s`}</td>
    <td data-label="Memory">${memory === undefined ? '–' : `${Math.round(memory)} MB`}</td>
    <td data-label="Processor">${processor === undefined ? '–' : `${Math.round(processor)} %`}</td>
  </tr>`;
}
