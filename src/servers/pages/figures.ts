import type { ReplyOf } from '../../http/calls.ts';
import { HOUR_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import { timeTag } from '../../web/panel/time.ts';

type Sample = ReplyOf<'GetServerMetrics'>['series'][number];

/** The charts' data by the hour, for readers who cannot see them or run no script. */
export function figuresByHour(series: readonly Sample[]): Html {
  const hours = Map.groupBy(series, ({ ts }) => Math.floor(Date.parse(ts) / HOUR_MS) * HOUR_MS);
  if (hours.size === 0) return html`<p class="soft">No data yet.</p>`;
  return html`<details>
    <summary>Hourly table</summary>
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Hour</th>
          <th scope="col">Awake</th>
          <th scope="col">Most players</th>
          <th scope="col">Ticks</th>
          <th scope="col">Memory</th>
          <th scope="col">Processor</th>
        </tr>
      </thead>
      <tbody>
        ${[...hours].toReversed().map(([hour, samples]) => hourRow(hour, samples))}
      </tbody>
    </table>
  </details>`;
}

function hourRow(hour: number, samples: readonly Sample[]): Html {
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
    <th scope="row">${timeTag(hour)}</th>
    <td data-label="Awake">${samples.length} min</td>
    <td data-label="Players">${Math.max(...samples.map(({ players }) => players))}</td>
    <td data-label="Ticks">${tps === undefined ? '–' : `${tps.toFixed(1)} per s`}</td>
    <td data-label="Memory">${memory === undefined ? '–' : `${Math.round(memory)} MB`}</td>
    <td data-label="Processor">${processor === undefined ? '–' : `${Math.round(processor)} %`}</td>
  </tr>`;
}
