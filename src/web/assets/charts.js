/* Charts of a server's usage in the last day, by minute. The table below them has the same figures by hour. */
const HEIGHT = 144;
const DAY_SECONDS = 86_400;
const LEAST_SECONDS = 3_600;
/** Readings come once a minute. Over a longer gap the server slept, and no line is drawn. */
const GAP_SECONDS = 150;
const FIGURES = {
  players: { of: (sample) => sample.players, text: (value) => `${value}`, least: 4 },
  ticks: { of: ({ tps }) => (tps > 0 ? tps : null), text: (value) => `${value.toFixed(1)} per s`, least: 20 },
  memory: {
    of: ({ memUsedMb }) => (memUsedMb > 0 ? memUsedMb : null),
    text: (value) => `${Math.round(value)} MB`,
    least: 256,
  },
  processor: {
    of: ({ cpuPercent }) => (cpuPercent >= 0 ? cpuPercent : null),
    text: (value) => `${Math.round(value)} %`,
    least: 100,
  },
};

const place = document.querySelector('[data-charts]');
const charts = [];
let samples = [];

if (place) void load();
document.addEventListener('dormouse:event', ({ detail: { name, data } }) => {
  if (name !== 'tick' || !place) return;
  samples.push({ ...data, ts: data.at });
  if (place.hidden) drawCharts();
  else draw();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);

async function load() {
  const answer = await fetch(place.dataset.charts);
  if (!answer.ok) return;
  ({ series: samples } = await answer.json());
  if (samples.length > 0 && place.hidden) drawCharts();
}

/** Shows the charts. They stay hidden for a server that was not awake. */
function drawCharts() {
  place.hidden = false;
  paint();
  new ResizeObserver(() => {
    for (const { plot, box } of charts) plot.setSize({ width: box.clientWidth, height: HEIGHT });
  }).observe(place);
}

/** Draws all charts in the page's current colours. */
function paint() {
  for (const { plot } of charts.splice(0)) plot.destroy();
  for (const box of place.querySelectorAll('[data-figure]')) charts.push({ box, plot: chart(box) });
  draw();
}

function chart(box) {
  const { text, least } = FIGURES[box.dataset.figure];
  const now = box.closest('figure').querySelector('output');
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('soft'), grid: { stroke: colour('hair'), width: 1 }, ticks: { show: false } };
  const said = (plot) => {
    const { idx } = plot.cursor;
    const values = plot.data[1];
    const value = values[idx ?? values.length - 1];
    now.textContent = value === null || value === undefined ? '–' : text(value);
  };
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: 'charts' }, drag: { x: false, y: false }, points: { size: 7 } },
      scales: {
        x: { range: spanShown },
        y: { range: (_, low, high) => [0, Math.max(least, (high ?? 0) * 1.05)] },
      },
      axes: [
        {
          ...axis,
          size: 26,
          values: (_, all) =>
            all.map((at) => new Date(at * 1_000).toLocaleTimeString(undefined, { timeStyle: 'short' })),
        },
        { ...axis, size: 46 },
      ],
      series: [
        {},
        {
          stroke: colour('accent'),
          width: 2,
          fill: colour('sunken'),
          points: { show: false, filter: alone, size: 4, fill: colour('accent') },
        },
      ],
      hooks: { setCursor: [said], setData: [said] },
    },
    [[], []],
    box,
  );
}

/** Returns the indexes of readings without neighbours. No line reaches them, so they are drawn as points. */
function alone({ data }) {
  const values = data[1];
  const isThere = (n) => values[n] !== null && values[n] !== undefined;
  return [...values.keys()].filter((n) => isThere(n) && !isThere(n - 1) && !isThere(n + 1));
}

/** Returns the last day, or the time since the first reading if that is shorter, but at least an hour. */
function spanShown() {
  const now = Date.now() / 1_000;
  const first = Date.parse(samples[0]?.ts ?? '') / 1_000;
  const from = Math.min(first - 60, now - LEAST_SECONDS);
  return [Math.max(now - DAY_SECONDS, Number.isNaN(from) ? 0 : from), now];
}

function draw() {
  const times = [];
  const kept = [];
  for (const sample of samples.slice(-1_440)) {
    const at = Date.parse(sample.ts) / 1_000;
    const last = times.at(-1);
    if (last !== undefined && at - last > GAP_SECONDS) {
      times.push(last + 60);
      kept.push(undefined);
    }
    times.push(at);
    kept.push(sample);
  }
  for (const { plot, box } of charts) {
    const { of } = FIGURES[box.dataset.figure];
    plot.setData([times, kept.map((sample) => (sample ? of(sample) : null))]);
  }
}
