/*
 * Uploads files and folders that are dropped on the page or chosen. It uploads a few files at a time, each completely
 * or not at all. An existing file is replaced only if the user agreed. An archive with a page of its own (`data-after`)
 * is uploaded alone, and that page opens.
 */
const AT_ONCE = 2;
const MOST_FILES = 10_000;
const MOST_TRIES = 5;
/** Limit of listed failures. */
const MOST_LISTED = 100;

const card = document.querySelector('[data-upload]');
const place = card?.querySelector('[data-uploads]');
const { csrf } = document.querySelector('[data-csrf]').dataset;

let queue = [];
let going = new Map();
let failed = [];
let done = { files: 0, bytes: 0 };
let total = { files: 0, bytes: 0 };
let pause = 0;

if (card) {
  for (const name of card.dataset.after === undefined ? ['files', 'folder'] : ['files']) {
    const input = card.querySelector(`[data-${name}]`);
    card.querySelector(`[data-choose=${name}]`).addEventListener('click', () => input.click());
    input.addEventListener('change', () => {
      take([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      input.value = '';
    });
  }
  document.addEventListener('dragover', (event) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    card.classList.add('over');
  });
  document.addEventListener('dragleave', (event) => event.relatedTarget || card.classList.remove('over'));
  document.addEventListener('drop', (event) => {
    card.classList.remove('over');
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    void dropped(event.dataTransfer);
  });
  addEventListener('beforeunload', (event) => going.size > 0 && event.preventDefault());
}

/* The box above the names selects all, and the bar counts the selected entries. */
document.addEventListener('change', ({ target }) => {
  if (target.matches('[data-all]')) for (const box of boxes()) box.checked = target.checked;
  if (target.matches('#entries [type=checkbox]')) count();
});
document.addEventListener('dormouse:renewed', count);
addEventListener('pageshow', count);

function boxes() {
  return [...document.querySelectorAll('#entries [name=name]')];
}

function count() {
  const [all, ticked] = [boxes().length, boxes().filter(({ checked }) => checked).length];
  for (const text of document.querySelectorAll('[data-ticked]')) text.textContent = `${ticked} selected`;
  const box = document.querySelector('[data-all]');
  if (box) Object.assign(box, { checked: all > 0 && ticked === all, indeterminate: ticked > 0 && ticked < all });
}

/* Enter in a field presses the button beside that field. */
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing || !event.target.matches('.ticked input')) return;
  event.preventDefault();
  event.target.closest('div').querySelector('button').click();
});

async function dropped({ items, files }) {
  // The browser empties `items` at the first await.
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = entries.length === 0 ? [...files].map((file) => ({ file, path: file.name })) : [];
  const unread = [];
  for (const entry of entries) await walk(entry, found, unread);
  if (found.length === 0 && going.size + queue.length === 0) begin();
  take(found);
  // After `take`, which clears the list of failures.
  for (const each of unread) fail(each);
  if (unread.length > 0) showSoon();
}

/** Collects all files below a dropped entry. Unreadable ones are added to `unread`. */
async function walk(entry, found, unread) {
  if (found.length > MOST_FILES) return;
  const path = entry.fullPath.replace(/^\//, '');
  try {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ file, path });
      return;
    }
    const reader = entry.createReader();
    for (let count = 0; ;) {
      // `readEntries` returns a part of the entries at each call.
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0 && count === 0) unread.push({ path, message: 'The folder is empty and was not created.' });
      if (some.length === 0) return;
      count += some.length;
      for (const each of some) await walk(each, found, unread);
    }
  } catch {
    unread.push({ path, message: 'The file could not be read.' });
  }
}

function take(files) {
  if (files.length === 0) return;
  if (card.dataset.after !== undefined && files.length + going.size + queue.length > 1) {
    fail({ path: files[0].path, message: 'Upload one archive. Put a folder into a zip first.' });
    showSoon();
    return;
  }
  if (queue.length + files.length > MOST_FILES) {
    fail({
      path: `${files.length} files`,
      message: `You can upload at most ${MOST_FILES} files at once. Put them into a zip first.`,
    });
    showSoon();
    return;
  }
  if (going.size + queue.length === 0) begin();
  total.files += files.length;
  for (const { file } of files) total.bytes += file.size;
  queue.push(...files.map((each) => ({ ...each, tries: 0 })));
  next();
}

function begin() {
  [done, total, failed] = [{ files: 0, bytes: 0 }, { files: 0, bytes: 0 }, []];
}

function next() {
  if (pause === 0) for (const item of queue.splice(0, AT_ONCE - going.size)) upload(item);
  showSoon();
  if (going.size + queue.length === 0) void renew();
}

function upload(item) {
  const request = new XMLHttpRequest();
  const { after, path: directory = '' } = card.dataset;
  const path = directory === '' ? item.path : `${directory}/${item.path}`;
  const query = new URLSearchParams(
    after === undefined ? { path, overwrite: String(item.overwrite === true) } : { name: item.path.slice(-256) },
  );
  request.open('POST', `${card.dataset.upload}?${query}`);
  request.setRequestHeader('x-csrf-token', csrf);
  request.setRequestHeader('content-type', 'application/octet-stream');
  request.upload.addEventListener('progress', ({ loaded }) => {
    going.set(request, loaded);
    showSoon();
  });
  request.addEventListener('loadend', () => {
    if (!going.delete(request)) return;
    ended(item, request);
    next();
  });
  going.set(request, 0);
  request.send(item.file);
}

function ended(item, { status, responseText }) {
  if (status === 200) {
    done.files += 1;
    done.bytes += item.file.size;
    const { after } = card.dataset;
    if (after !== undefined) location.assign(after + (answerOf(responseText).id ?? ''));
    return;
  }
  const { message, details } = answerOf(responseText);
  item.tries += 1;
  if ((status === 429 || status === 503) && item.tries < MOST_TRIES) {
    queue.unshift(item);
    pause = setTimeout(() => {
      pause = 0;
      next();
    }, 2_000 * item.tries);
    return;
  }
  total.bytes -= item.file.size;
  fail({
    ...item,
    message: message ?? 'Upload failed: the connection was lost.',
    exists: details?.[0]?.reason === 'PATH_EXISTS',
  });
}

function answerOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function fail(item) {
  failed.push(item);
}

/** Reloads the list of files and keeps the selection. */
async function renew() {
  if (card.dataset.after !== undefined) return;
  const answer = await fetch(document.querySelector('.panel').dataset.here, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const ticked = new Set(boxes().flatMap(({ checked, value }) => (checked ? [value] : [])));
  Idiomorph.morph(document.getElementById('entries'), fresh.getElementById('entries'));
  for (const box of boxes()) box.checked = ticked.has(box.value);
  document.dispatchEvent(new CustomEvent('dormouse:renewed'));
}

/* Progress and failures. */

let drawing = false;

function showSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw() {
  const isGoing = going.size + queue.length > 0;
  const sent = done.bytes + [...going.values()].reduce((sum, bytes) => sum + bytes, 0);
  const bar = element('progress', { max: Math.max(1, total.bytes), value: sent, ariaLabel: 'Upload' });
  const text = isGoing
    ? `${done.files} of ${total.files} files, ${sizeText(sent)} of ${sizeText(total.bytes)}`
    : `${done.files} ${done.files === 1 ? 'file' : 'files'} uploaded.`;
  const exist = failed.filter(({ exists }) => exists);
  place.className = 'uploads';
  place.replaceChildren(
    ...(isGoing ? [bar] : []),
    element('p', { role: 'status', textContent: text }),
    ...(isGoing ? [button('Stop', stop)] : []),
    ...(exist.length > 1 ? [button(`Replace all ${exist.length} that already exist`, () => replace(exist))] : []),
    ...(failed.length > 0 ? [list()] : []),
  );
}

function list() {
  const lines = failed.slice(0, MOST_LISTED).map((item) => {
    const line = element('li');
    const text = item.exists ? `${item.path} already exists.` : `${item.path}: ${item.message}`;
    line.append(element('p', { className: 'wrong', textContent: text }));
    if (item.exists) line.append(button('Replace', () => replace([item]), item.path));
    return line;
  });
  if (failed.length > MOST_LISTED) {
    lines.push(element('li', { textContent: `and ${failed.length - MOST_LISTED} more` }));
  }
  const all = element('ul');
  all.append(...lines);
  return all;
}

function replace(items) {
  failed = failed.filter((each) => !items.includes(each));
  total.files += going.size + queue.length === 0 ? 0 : items.length;
  const again = items.map(({ file, path }) => ({ file, path, tries: 0, overwrite: true }));
  if (going.size + queue.length === 0)
    [done, total] = [
      { files: 0, bytes: 0 },
      { files: items.length, bytes: 0 },
    ];
  for (const { file } of again) total.bytes += file.size;
  queue.push(...again);
  next();
}

function stop() {
  queue = [];
  clearTimeout(pause);
  pause = 0;
  const requests = [...going.keys()];
  going.clear();
  for (const request of requests) request.abort();
  next();
}

function button(label, act, what = '') {
  const made = element('button', { type: 'button', className: 'link', textContent: label });
  if (what !== '') made.ariaLabel = `${label} ${what}`;
  made.addEventListener('click', act);
  return made;
}

function element(name, fields = {}) {
  return Object.assign(document.createElement(name), fields);
}

function sizeText(bytes) {
  const [unit, of] = [
    ['GB', 2 ** 30],
    ['MB', 2 ** 20],
    ['KB', 2 ** 10],
  ].find(([, each]) => bytes >= each) ?? ['bytes', 1];
  const count = bytes / of;
  return `${count < 10 && of > 1 ? count.toFixed(1) : Math.round(count)} ${unit}`;
}
