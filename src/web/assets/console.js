/*
 * A server's live log. Lines arrive in bursts of thousands, so they are drawn once per frame, and only the newest are kept.
 * This script filters, pauses and searches. `log-line.js` decides how a line looks.
 */
const MOST_LINES = 5_000;
/** Limit of a compressed log shown on the page. A download has all of it. */
const MOST_CHARS = 8_000_000;
const MOST_COMMANDS = 100;
/** A stream begins with the newest lines, and some may be on the page already. This is how often they are compared. */
const BACKLOG_MS = 250;
/** On a slow connection, the lines of the page have all arrived by then. */
const MOST_BACKLOG_MS = 10_000;
const MOST_BACKLOG = 1_000;

const box = document.querySelector('[data-log]');
const list = box.firstElementChild;
const find = document.getElementById('find');
const onlyBad = document.querySelector('[data-only-bad]');
const pause = document.querySelector('[data-pause]');
const newest = document.querySelector('[data-newest]');
const count = document.querySelector('[data-count]');

/** The newest lines received. They identify lines that the next stream repeats. */
let seen = [];
/** Lines to draw at the next frame, or when the reader resumes. */
let waiting = [];
/** The first lines of a new stream while they arrive; otherwise undefined. */
let backlog;
let source;
let level = '';
/** The newest line drawn, and its element. */
let above = { text: '', element: undefined };
let drawing = false;
/** Whether the page shows the log of an earlier run. */
let reading = false;

follow();
document.addEventListener('dormouse:renewed', () => {
  // The stream ended with the game. It is opened again when the server prints again.
  if (!source && document.querySelector('[data-live="console"]')?.dataset.prints === 'true') follow();
});

function follow() {
  if (reading) return;
  source?.close();
  const stream = new EventSource(box.dataset.log);
  source = stream;
  stream.addEventListener('open', () => {
    backlog = [];
    setTimeout(() => compare(stream, BACKLOG_MS), BACKLOG_MS);
  });
  stream.addEventListener('message', ({ data }) => (backlog ? backlog.push(data) : add([data])));
  stream.addEventListener('error', () => {
    // A browser would reconnect every few seconds, even while the server sleeps.
    stream.close();
    source = undefined;
    takeBacklog();
  });
}

/** Takes the first lines of a stream once they contain all lines of the page that it repeats. */
function compare(stream, waitedMs) {
  if (source !== stream) return;
  if (waitedMs < MOST_BACKLOG_MS && overlap(seen, backlog) > backlog.length)
    setTimeout(() => compare(stream, waitedMs + BACKLOG_MS), BACKLOG_MS);
  else takeBacklog();
}

function takeBacklog() {
  const lines = backlog;
  backlog = undefined;
  if (!lines) return;
  if (seen.length === 0) list.replaceChildren(...(lines.length === 0 ? [noneSaid()] : []));
  add(lines.slice(overlap(seen, lines)));
}

function noneSaid() {
  const none = document.createElement('p');
  none.className = 'none';
  none.textContent = 'No output yet.';
  return none;
}

/**
 * Returns how many of the last lines in `here` are repeated by the first ones in `coming`. This is more than there are
 * in `coming` while it repeats lines from the middle of `here`: the rest of them is still to come.
 */
function overlap(here, coming) {
  for (let from = 0; from < here.length; from += 1) {
    const length = Math.min(here.length - from, coming.length);
    let same = 0;
    while (same < length && here[from + same] === coming[same]) same += 1;
    if (same === length) return here.length - from;
  }
  return 0;
}

/** Whether the log is at its end and not paused. */
function isFollowed() {
  return pause.ariaPressed !== 'true' && Math.abs(box.scrollTop) < 8;
}

function add(lines) {
  // Not `push(...lines)`: there may be more lines than a call can take arguments.
  waiting = waiting.concat(lines).slice(-MOST_LINES);
  seen = seen.concat(lines).slice(-MOST_BACKLOG);
  drawSoon();
}

function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (isFollowed()) draw();
    tell();
  });
}

function draw() {
  const lines = waiting;
  waiting = [];
  if (lines.length === 0) return;
  put(...lines.map(lineOf));
}

/** Appends lines and removes the oldest beyond the limit. */
function put(...fresh) {
  list.querySelector('.none')?.remove();
  const surplus = list.childElementCount + fresh.length - MOST_LINES;
  for (let gone = 0; gone < surplus; gone += 1) list.firstElementChild?.remove();
  list.append(...fresh);
}

function lineOf(text) {
  level = logLevel(text, level);
  const line = paragraph(text, level);
  line.hidden = !isWanted(line);
  if (isOfTrace(text) && !isOfTrace(above.text)) above.element?.append(explanationOf(above.text));
  above = { text, element: line };
  return line;
}

/** The link above a stack trace. Its text comes from the style sheet, so that it is not copied with the log. */
function explanationOf(text) {
  const link = document.createElement('a');
  // The page accepts no longer line.
  const href = box.dataset.errors + encodeURIComponent(text.slice(0, 500).toWellFormed());
  return Object.assign(link, { href, className: 'explain', tabIndex: -1, ariaLabel: 'Explain this error' });
}

function paragraph(text, look) {
  const line = document.createElement('p');
  line.className = look;
  for (const piece of linePieces(text)) {
    const part = document.createElement(piece.isPlayer ? 'a' : 'span');
    // Not in the order of Tab, which would pass hundreds of names.
    if (piece.isPlayer)
      Object.assign(part, { href: box.dataset.players + encodeURIComponent(piece.text), tabIndex: -1 });
    part.textContent = piece.text;
    part.className = piece.look;
    line.append(part);
  }
  return line;
}

function isWanted(line) {
  if (onlyBad.checked && !/warn|error/.test(line.className)) return false;
  const wanted = find.value.trim().toLowerCase();
  return wanted === '' || line.textContent.toLowerCase().includes(wanted);
}

function sift() {
  for (const line of list.children) line.hidden = !isWanted(line);
  tell();
}

/** Updates the number of lines shown and held. */
function tell() {
  const held = waiting.length;
  newest.hidden = isFollowed() || reading;
  const sifted = onlyBad.checked || find.value.trim() !== '';
  const texts = [];
  if (held > 0) texts.push(`${held === MOST_LINES ? 'Thousands of' : held} new ${held === 1 ? 'line' : 'lines'}`);
  if (sifted) texts.push(`${list.querySelectorAll('p:not([hidden])').length} of ${list.children.length} lines`);
  const text = texts.join(' · ');
  if (count.textContent !== text) count.textContent = text;
}

function toNewest() {
  pause.ariaPressed = 'false';
  if (reading) live();
  draw();
  box.scrollTop = 0;
  tell();
}

let siftTimer;
find.addEventListener('input', () => {
  clearTimeout(siftTimer);
  siftTimer = setTimeout(sift, 100);
});
find.form.addEventListener('submit', (event) => {
  event.preventDefault();
  sift();
});
onlyBad.addEventListener('change', sift);
newest.addEventListener('click', () => {
  toNewest();
  box.focus();
});
pause.addEventListener('click', () => {
  if (pause.ariaPressed === 'true') return toNewest();
  pause.ariaPressed = 'true';
  tell();
});
box.addEventListener('scroll', () => {
  if (isFollowed() && waiting.length > 0) drawSoon();
  else tell();
});

/* Logs of earlier runs, in the same place. */

document.addEventListener('click', ({ target }) => {
  const button = target.closest?.('[data-read]');
  if (button) void read(button);
});

async function read(button) {
  button.disabled = true;
  try {
    const answer = await fetch(button.dataset.read);
    if (!answer.ok) throw new Error(String(answer.status));
    const lines = (await unpacked(answer.body)).split('\n').slice(-MOST_LINES);
    reading = true;
    source?.close();
    source = undefined;
    backlog = undefined;
    start(lines);
    count.textContent = button.textContent.replace(/^\s*Read/, '').trim();
    const back = document.createElement('button');
    Object.assign(back, { type: 'button', className: 'link', textContent: 'Back to the live log' });
    back.addEventListener('click', toNewest);
    count.append(' ', back);
    box.focus();
  } catch {
    say('This log could not be read. Download it instead.');
  } finally {
    button.disabled = false;
  }
}

async function unpacked(body) {
  let text = '';
  for await (const piece of body.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.length > MOST_CHARS) break;
  }
  return text.trimEnd();
}

function live() {
  reading = false;
  start([]);
  follow();
}

function start(lines) {
  [seen, waiting, level] = [[], lines, ''];
  above = { text: '', element: undefined };
  list.replaceChildren();
  box.scrollTop = 0;
  draw();
}

/* Commands. */

const form = document.querySelector('[data-command]');
const line = form?.elements.command;
const said = document.querySelector('[data-said]');
const key = `dormouse:commands:${line?.dataset.history}`;
let history = [];
let at = 0;
let draft = '';

if (form) {
  try {
    history = JSON.parse(sessionStorage.getItem(key) ?? '[]');
  } catch {
    // The stored history is damaged or storage is blocked: start with an empty one.
  }
  at = history.length;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run();
  });
  line.addEventListener('keydown', (event) => {
    if (event.key === 'Tab' && !event.shiftKey && complete()) {
      event.preventDefault();
      return;
    }
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (at === history.length) draft = line.value;
    at = Math.min(history.length, Math.max(0, at + step));
    line.value = at === history.length ? draft : history[at];
    line.setSelectionRange(line.value.length, line.value.length);
  });
}

/** The completions of the present word, in turn, and the text before it; undefined before the first Tab. */
let offered;

/** Completes the last word. Returns false if nothing is left to offer, so that Tab moves the focus as elsewhere. */
function complete() {
  if (offered?.shown !== line.value) {
    const from = line.value.lastIndexOf(' ') + 1;
    const [before, word] = [line.value.slice(0, from), line.value.slice(from)];
    if (word === '') return false;
    const words = from === 0 ? line.dataset.commands : document.querySelector('[data-names]').dataset.names;
    const plain = word.replace(/^\//, '').toLowerCase();
    const found = words.split(' ').filter((each) => each.toLowerCase().startsWith(plain) && each !== word);
    offered = { typed: line.value, texts: found.map((each) => `${before}${each}`) };
  }
  const next = offered.texts.shift();
  line.value = next ?? offered.typed;
  offered = next === undefined ? undefined : { ...offered, shown: next };
  return next !== undefined;
}

async function run() {
  const command = line.value.trim();
  if (command === '' || form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  remember(command);
  toNewest();
  print(`> ${command}`, 'asked');
  try {
    const body = new URLSearchParams(new FormData(form));
    line.value = '';
    const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const lines = [...page.querySelectorAll('[data-reply] p')].map((each) => each.textContent.trim());
    const refusal = page.querySelector('[role=alert]')?.textContent.trim();
    if (refusal || lines.length === 0) {
      say(refusal ?? 'The server did not report the result.');
      line.value = command;
    } else {
      for (const each of lines) print(each, 'answered');
      said.textContent = lines.join(' ').slice(0, 1_000);
    }
  } catch {
    say('No answer from the server. The command may have run.');
  } finally {
    form.ariaBusy = null;
    box.scrollTop = 0;
  }
}

/** Appends text that is not part of the log, such as the reply to a command. */
function print(text, look) {
  put(paragraph(text, look));
}

function say(text) {
  print(text, 'error');
  said.textContent = text;
}

function remember(command) {
  history = [...history.filter((each) => each !== command), command].slice(-MOST_COMMANDS);
  at = history.length;
  draft = '';
  try {
    sessionStorage.setItem(key, JSON.stringify(history));
  } catch {
    // Storage is blocked: the history lasts until the page closes.
  }
}
