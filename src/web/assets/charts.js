/*
 * Charts of a server's usage in a span of time, with its states as bands behind the lines. The table below them has the
 * same figures.
 */
const HEIGHT = 144;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** The colours of the bands. Other states are transitions. */
const BANDS = { running: 'good', hibernated: 'sunken', start_failed: 'bad', install_failed: 'bad' };
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
const span = Number(place?.dataset.hours) * HOUR_SECONDS;
/** Readings come once a minute, or once in ten. Over a longer gap the server slept, and no line is drawn. */
const step = span > DAY_SECONDS ? 600 : 60;
/** Difference of the browser's clock from the service's. */
const aheadMs = Date.now() - Number(document.querySelector('[data-now]')?.dataset.now ?? Date.now());
const charts = [];
let samples = [];
let states = [];

if (place) void load();
document.addEventListener('dormouse:event', ({ detail: { name, data } }) => {
  if (!place) return;
  if (name === 'state' && data.state !== states.at(-1)?.state) states.push({ state: data.state, since: data.at });
  if (name === 'tick') samples.push({ ...data, ts: data.at });
  else if (name !== 'state' || place.hidden) return;
  if (place.hidden) drawCharts();
  else draw();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);

async function load() {
  const answer = await fetch(place.dataset.charts);
  if (!answer.ok) return;
  ({ series: samples, states } = await answer.json());
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
  const output = box.closest('figure').querySelector('output');
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('soft'), grid: { stroke: colour('hair'), width: 1 }, ticks: { show: false } };
  const said = (plot) => {
    const { idx } = plot.cursor;
    const values = plot.data[1];
    const value = values[idx ?? values.length - 1];
    output.textContent = value === null || value === undefined ? '–' : text(value);
  };
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      // Room for half of the last label.
      padding: [8, 32, 0, 0],
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
          space: 72,
          values: (_, all, axisNumber, space, each) => all.map((at) => label(at, each)),
        },
        { ...axis, size: 54 },
      ],
      series: [
        {},
        {
          stroke: colour('accent'),
          width: 2,
          fill: `${colour('accent')}1c`,
          points: { show: false, filter: alone, size: 4, fill: colour('accent') },
        },
      ],
      hooks: { setCursor: [said], setData: [said], drawClear: [drawBands] },
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

/** Returns the service's time in seconds. */
function now() {
  return (Date.now() - aheadMs) / 1_000;
}

/** Names an instant on the axis: by its time, or by its day if the labels are days apart. */
function label(at, each) {
  const style = each < DAY_SECONDS ? { hour: 'numeric', minute: '2-digit' } : { day: 'numeric', month: 'short' };
  return new Date(at * 1_000).toLocaleString(undefined, style);
}

/** Draws the states behind everything else. */
function drawBands(plot) {
  const { ctx, bbox } = plot;
  const style = getComputedStyle(document.documentElement);
  const x = (at) => Math.min(Math.max(plot.valToPos(at, 'x', true), bbox.left), bbox.left + bbox.width);
  for (const [nth, { state, since }] of states.entries()) {
    const from = x(Date.parse(since) / 1_000);
    const to = x(states[nth + 1] ? Date.parse(states[nth + 1].since) / 1_000 : now());
    const name = BANDS[state] ?? 'warn';
    ctx.fillStyle = style.getPropertyValue(name === 'sunken' ? '--sunken' : `--${name}-ground`);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
}

/** Returns the span, or the time since the first known state or reading if that is shorter, but at least an hour. */
function spanShown() {
  const first = Math.min(...[samples[0]?.ts, states[0]?.since].filter(Boolean).map((at) => Date.parse(at) / 1_000));
  return [Math.max(now() - span, Math.min(first - 60, now() - HOUR_SECONDS)), now()];
}

function draw() {
  const times = [];
  const kept = [];
  for (const sample of samples) {
    const at = Date.parse(sample.ts) / 1_000;
    const last = times.at(-1);
    if (last !== undefined && at - last > 2.5 * step) {
      times.push(last + step);
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
