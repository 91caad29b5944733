/*
 * Keeps a page up to date. The stream reports that something happened. The script then fetches the page itself, so only
 * the server renders, and event data never becomes markup. Only parts marked `data-live` are replaced, in place: input,
 * selection and scroll position stay.
 *
 * Times with `data-since` count on, and those with `data-until` count down, by the server's clock, from `data-now` of an
 * enclosing element.
 *
 * Other scripts receive `dormouse:event` (with the event's name and data) and `dormouse:renewed`.
 */
const REFRESH_MS = 1_000;
const POLL_MS = 15_000;
/** For parts with `data-soon`, whose changes the stream does not report. */
const SOON_MS = 2_000;
const EVENTS = ['state', 'progress', 'players', 'tick', 'backup', 'quota', 'alert', 'gap', 'changed', 'transition'];

const page = document.querySelector('[data-stream]');
const statuses = document.querySelectorAll('[data-status]');
let source;
let refreshing = false;
let wanted = false;

Idiomorph.defaults.ignoreActiveValue = true;
// A field in use keeps its content. A pressed button gets its new text.
document.addEventListener('focusin', ({ target }) => {
  Idiomorph.defaults.ignoreActiveValue = target.matches('input, textarea, select');
});
// Elements with `data-keep` are filled by scripts and stay unchanged.
Idiomorph.defaults.callbacks.beforeNodeMorphed = (node) => !node.dataset || !('keep' in node.dataset);
// Opened details stay open, and forms being sent stay busy: the server knows neither.
Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, { localName }) =>
  !(name === 'open' && localName === 'details') && !(name === 'aria-busy' && localName === 'form');

if (page) {
  connect();
  setInterval(refreshSoon, POLL_MS);
  setInterval(() => document.querySelector('[data-soon]') && refreshSoon(), SOON_MS);
  document.addEventListener('visibilitychange', () => {
    // Browsers limit the connections to a service, and a tab in the background needs none.
    if (document.hidden) source?.close();
    else connect();
  });
}
document.addEventListener('dormouse:refresh', refreshSoon);
document.addEventListener('dormouse:renewed', noteTime);

/** Server time when the content was rendered, and the browser's clock at that time. */
let renderedAt = 0;
let renderedHere = 0;
noteTime();
setInterval(countOn, 1_000);

function connect() {
  if (document.hidden) return;
  source?.close();
  source = new EventSource(page.dataset.stream);
  source.addEventListener('open', () => {
    say('Live', 'on');
    // Catches up with events between the page and its stream.
    refreshSoon();
  });
  for (const name of EVENTS) {
    source.addEventListener(name, ({ data }) => {
      document.dispatchEvent(new CustomEvent('dormouse:event', { detail: { name, data: JSON.parse(data || '{}') } }));
      refreshSoon();
    });
  }
  source.addEventListener('error', ({ target }) => {
    if (target.readyState === EventSource.CLOSED) {
      say(`Updates every ${POLL_MS / 1_000} s`, 'off');
      setTimeout(() => target === source && connect(), POLL_MS);
    } else say('Reconnecting…', 'off');
  });
}

function say(text, state) {
  for (const status of statuses) {
    if (status.textContent !== text) status.textContent = text;
    status.dataset.state = state;
  }
}

/** Refreshes now, but at most once a second and never twice at the same time. */
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
      // The stream's status shows that the service is away. The page refreshes when it is back.
    }
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
  refreshing = false;
}

async function refresh() {
  const parts = [...document.querySelectorAll('[data-live]')];
  if (parts.length === 0) return;
  // After a form, the browser's address is the form's, and GET finds no page there.
  // A page that is slow to create names one with the same live parts.
  const quick = document.querySelector('[data-refresh]')?.dataset.refresh;
  const here = quick ?? page?.dataset.here ?? location.href;
  const answer = await fetch(here, { headers: { accept: 'text/html' }, redirect: 'manual' });
  if (answer.type === 'opaqueredirect' || answer.status === 404) return leaveFor(here);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of parts) {
    const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    if (next && part.isConnected) Idiomorph.morph(part, next);
  }
  // Encloses the parts, so it is not replaced with them.
  const told = document.querySelector('[data-now]');
  if (told) told.dataset.now = fresh.querySelector('[data-now]')?.dataset.now ?? told.dataset.now;
  document.dispatchEvent(new CustomEvent('dormouse:renewed'));
}

/**
 * Opens the page's address, which explains why the page is gone. A form being sent opens the next page itself and must
 * not be interrupted.
 */
function leaveFor(address) {
  if (!document.querySelector('form[aria-busy=true]')) location.assign(address);
}

function noteTime() {
  renderedAt = Number(document.querySelector('[data-now]')?.dataset.now ?? 0);
  renderedHere = performance.now();
  countOn();
}

/** Updates all times. Same rule as `spanText` on the server. */
function countOn() {
  const now = renderedAt + performance.now() - renderedHere;
  for (const time of document.querySelectorAll('time:is([data-since], [data-until])')) {
    const { since, until } = time.dataset;
    const text = spanText(until === undefined ? now - Number(since) : Number(until) - now);
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
