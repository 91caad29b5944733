/*
 * Improves the panel if scripts run: forms work without a new page, times are in the reader's time zone, a button copies
 * an address, and Ctrl K opens a list of servers, pages and actions. The key `/` goes to the command line.
 */
const TOAST_MS = 8_000;
/** Messages over the page. Screen readers announce them. */
const toasts = Object.assign(document.createElement('div'), { className: 'toasts', role: 'status' });
let leaving;
document.body.append(toasts);
toasts.addEventListener('pointerenter', () => clearTimeout(leaving));
toasts.addEventListener('pointerleave', leaveSoon);

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!form.matches('form[data-swap]') || event.defaultPrevented) return;
  // The answer is a file.
  if (event.submitter?.matches('[data-native]')) return;
  event.preventDefault();
  void send(form, event.submitter);
});

/** Sends a form and shows the resulting page in place. */
async function send(form, button) {
  if (form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  toasts.replaceChildren();
  try {
    const body = new URLSearchParams(new FormData(form, button));
    const action = button?.getAttribute('formaction') ?? form.getAttribute('action');
    // A question would cover the answer.
    form.closest('[popover]')?.hidePopover();
    const answer = await fetch(action, { method: 'POST', body, headers: { accept: 'text/html' } });
    const shown = new URL(answer.url);
    if (answer.redirected && shown.pathname !== location.pathname) return location.assign(answer.url);
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const main = fresh.getElementById('main');
    if (!main) return location.assign(answer.url);
    document.title = fresh.title;
    form.reset();
    // If the input of a confirmation was refused, it stays open with the message.
    if (!main.querySelector('.confirm[open]')) form.closest('.confirm')?.removeAttribute('open');
    Idiomorph.morph(document.getElementById('main'), main);
    document.dispatchEvent(new CustomEvent('dormouse:renewed'));
    toast();
    const wrong = document.querySelector('main [aria-invalid=true]');
    const told = wrong ?? document.querySelector('[role=alert], [role=status].note');
    told?.scrollIntoView({ block: 'nearest' });
    wrong?.focus();
  } catch {
    say('No answer from the server. Your change may not have been saved.');
  }
  // Not reached if another page follows: the form stays busy until it loads, so that a second click does nothing.
  form.ariaBusy = null;
}

// The back button may restore a page in the state in which it was left.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) for (const form of document.querySelectorAll('form[aria-busy=true]')) form.ariaBusy = null;
});

/** Shows an error over the page until the next form is sent. */
function say(text) {
  const note = document.createElement('p');
  note.className = 'note bad';
  note.textContent = text;
  clearTimeout(leaving);
  toasts.replaceChildren(note);
}

/** Moves the page's success message over the page, so that focus and scroll position stay. */
function toast() {
  const note = document.querySelector('main [data-toast]');
  if (!note) return;
  note.removeAttribute('role');
  toasts.replaceChildren(note);
  leaveSoon();
}

/** Lets a success message leave, unless the pointer rests on it. */
function leaveSoon() {
  clearTimeout(leaving);
  leaving = setTimeout(() => toasts.querySelector('[data-toast]')?.remove(), TOAST_MS);
}

document.addEventListener('click', ({ target }) => {
  const button = target.closest?.('[data-copy]');
  if (button) void copy(button);
});

async function copy(button) {
  const text = button.dataset.copy;
  // Browsers offer the clipboard only to https and to this machine.
  const isCopied = navigator.clipboard ? await written(text) : copySelected(text);
  const before = [...button.childNodes];
  button.replaceChildren(isCopied ? 'Copied' : 'Not copied');
  setTimeout(() => button.replaceChildren(...before), 1_500);
}

async function written(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copySelected(text) {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  focused?.focus();
  return isCopied;
}

document.addEventListener('dormouse:renewed', improve);
improve();
toast();

/** Adds what the server can't know: the reader's time zone, and that scripts run. */
function improve() {
  for (const each of document.querySelectorAll('[data-scripted]')) each.hidden = false;
  for (const each of document.querySelectorAll('[data-plain]')) each.hidden = true;
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
  for (const time of document.querySelectorAll('time[data-local]')) {
    const text = localTime(time.dateTime, time.dataset.local || 'short');
    if (time.textContent !== text) time.textContent = text;
    time.title = new Date(time.dateTime).toISOString();
  }
  for (const time of document.querySelectorAll('time[data-local-title]')) time.title = localTime(time.dateTime);
}

function localTime(at, timeStyle = 'short') {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle });
}

let palette;
document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  if (event.altKey || event.shiftKey) return;
  const named = document.querySelector('[data-palette]')?.dataset;
  if (named && key.toLowerCase() === 'k' && isCommand) {
    event.preventDefault();
    palette ??= loadDialog(named.palette);
    void palette.then(({ toggle }) => toggle());
  } else if (key === '/' && !isCommand && !target.closest('input, textarea, select')) {
    const line = document.querySelector('.command input[type=text]');
    if (line === null) return;
    event.preventDefault();
    line.focus();
  }
});

/** Loads a script with the style of its dialog. */
async function loadDialog(script) {
  const href = document.querySelector('[data-palette-style]').dataset.paletteStyle;
  const style = Object.assign(document.createElement('link'), { rel: 'stylesheet', href });
  const styled = new Promise((resolve) => style.addEventListener('load', resolve));
  document.head.append(style);
  await styled;
  return await import(script);
}

/* Files can be dropped on any page of a server. Some pages handle drops themselves. */
let dropped;
for (const name of ['dragover', 'drop']) document.addEventListener(name, takeFiles);

function takeFiles(event) {
  const script = document.querySelector('.panel[data-drop]')?.dataset.dropScript;
  const { types, files } = event.dataTransfer;
  if (!script || !types.includes('Files') || document.querySelector('[data-upload]')) return;
  if (event.target.closest?.('input, textarea')) return;
  event.preventDefault();
  const found = [...files];
  if (event.type !== 'drop' || found.length === 0) return;
  dropped ??= loadDialog(script);
  void dropped.then(({ take }) => take(found));
}
