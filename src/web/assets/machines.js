/* What the operators' pages have beside being live (live.js): the way a machine went is lit, and what is under way is counted. */
const page = document.querySelector('[data-stream]');
const changed = new Set();
/** The last step of the one machine that the page is about. */
let taken;

/** Server time when the page's content was rendered, and the browser's own clock then. */
let renderedAt = 0;
let renderedHere = 0;

noteTime();
countOn();
setInterval(countOn, 1_000);

document.addEventListener('dormouse:event', ({ detail: { data: step } }) => {
  changed.add(step.id);
  if (page.dataset.only === step.id) light((taken = step));
});

document.addEventListener('dormouse:renewed', () => {
  const told = new Set(changed);
  changed.clear();
  if (taken && document.querySelector('[data-path]')?.dataset.path === taken.toPath) light(taken);
  for (const row of document.querySelectorAll('[data-machine]'))
    if (told.has(row.dataset.machine)) row.classList.add('changed');
  noteTime();
  countOn();
});

/** Lights the state a machine has just entered, and the way it went, before the page is asked for again. */
function light({ fromPath, toPath }) {
  for (const state of document.querySelectorAll('[data-state]')) {
    const { state: path } = state.dataset;
    state.classList.toggle('lit', isIn(path, toPath));
  }
  for (const edge of document.querySelectorAll('[data-from]')) {
    edge.classList.toggle('lit', isIn(edge.dataset.from, toPath));
    // What is lit is drawn over what is not.
    if (edge.classList.contains('lit')) edge.parentNode.append(edge);
    edge.classList.toggle('taken', isIn(edge.dataset.from, fromPath) && isIn(edge.dataset.to, toPath));
  }
}

function isIn(state, path) {
  return state === path || path.startsWith(`${state}.`);
}

function noteTime() {
  renderedAt = Number(document.querySelector('[data-now]')?.dataset.now ?? 0);
  renderedHere = performance.now();
}

/** How long each machine has been what it is, by the server's clock. The same rule as `spanText` on the server. */
function countOn() {
  const now = renderedAt + performance.now() - renderedHere;
  for (const time of document.querySelectorAll('time[data-since]')) {
    const text = spanText(now - Number(time.dataset.since));
    if (time.textContent !== text) time.textContent = text;
  }
}

function spanText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}
