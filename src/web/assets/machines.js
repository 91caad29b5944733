/*
 * Keeps the operators' pages up to date. The stream says when something happened; what the page then shows is asked for as
 * the page itself, so that the server alone renders and nothing that comes from outside is ever made into markup here.
 */
const page = document.querySelector('[data-stream]');
const status = document.querySelector('[data-status]');
const REFRESH_MS = 1_000;
const POLL_MS = 15_000;

let refreshing = false;
let wanted = false;
const changed = new Set();
/** The last step of the one machine that the page is about. */
let taken;

/** Server time when the page's content was rendered, and the browser's own clock then. */
let renderedAt = 0;
let renderedHere = 0;

noteTime();
countOn();
setInterval(countOn, 1_000);
setInterval(refreshSoon, POLL_MS);
connect();

function connect() {
  const source = new EventSource(page.dataset.stream);
  source.addEventListener('open', () => {
    say('Live', 'on');
    // Whatever happened between the page and its stream.
    refreshSoon();
  });
  source.addEventListener('transition', ({ data }) => {
    const step = JSON.parse(data);
    changed.add(step.id);
    if (page.dataset.only === step.id) light((taken = step));
    refreshSoon();
  });
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) {
      say(`Every ${POLL_MS / 1_000} s: the stream was refused`, 'off');
      setTimeout(connect, POLL_MS);
    } else say('Connecting again…', 'off');
  });
}

function say(text, state) {
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = state;
}

/** At once where nothing was asked for lately; never more than once a second, nor two at a time. */
function refreshSoon() {
  wanted = true;
  if (!refreshing && !document.hidden) void refreshWhileWanted();
}

async function refreshWhileWanted() {
  refreshing = true;
  while (wanted) {
    wanted = false;
    try {
      await refresh();
    } catch {
      // The stream says that the service is away, and asks again once it is back.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
  refreshing = false;
}

document.addEventListener('visibilitychange', refreshSoon);

async function refresh() {
  const told = new Set(changed);
  changed.clear();
  const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual' });
  if (answer.type === 'opaqueredirect' || answer.status === 404) return location.reload();
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    if (next && !part.isEqualNode(next)) renew(part, next);
  }
  if (taken && document.querySelector('[data-path]')?.dataset.path === taken.toPath) light(taken);
  for (const row of document.querySelectorAll('[data-machine]'))
    if (told.has(row.dataset.machine)) row.classList.add('changed');
  noteTime();
  countOn();
}

/** Puts the new content in place without taking the focus away. */
function renew(part, next) {
  const held = part.contains(document.activeElement) ? document.activeElement : null;
  const same = held && [...next.querySelectorAll(held.localName)].find((each) => keyOf(each) === keyOf(held));
  const { scrollTop } = part.querySelector('pre') ?? part;
  part.replaceWith(document.importNode(next, true));
  const now = document.querySelector(`[data-live="${next.dataset.live}"]`);
  const pre = now.querySelector('pre');
  if (pre) pre.scrollTop = scrollTop;
  if (same) [...now.querySelectorAll(held.localName)].find((each) => keyOf(each) === keyOf(held))?.focus();
}

function keyOf(element) {
  return element.getAttribute('href') ?? element.getAttribute('value') ?? element.getAttribute('class');
}

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
