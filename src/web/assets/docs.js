/*
 * Search and trial calls on the API's page. The key stays in its field, is sent to this service only, without cookies, and is
 * never stored. Replies are shown as text.
 */
const find = document.querySelector('#find');
const key = document.querySelector('#key');
const found = document.querySelector('[data-found]');
const operations = [...document.querySelectorAll('.operation')];
const MOST_SHOWN = 200_000;

// Some browsers restore fields after a reload. The key must not be restored.
key.value = '';
find.value = '';
document.querySelector('[data-tools]').hidden = false;
find.addEventListener('input', filter);
addEventListener('hashchange', openTarget);
for (const operation of operations) {
  operation.addEventListener('toggle', () => operation.open && prepare(operation), { once: true });
}
openTarget();

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches('details')) return;
  if (target.hidden) {
    find.value = '';
    filter();
  }
  target.open = true;
  target.scrollIntoView();
}

function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const operation of operations) {
    const text = `${operation.id} ${operation.querySelector('summary').textContent}`.toLowerCase();
    operation.hidden = !words.every((word) => text.includes(word));
    if (!operation.hidden) count++;
  }
  for (const group of document.querySelectorAll('.group')) {
    group.hidden = !group.querySelector('.operation:not([hidden])');
  }
  found.textContent = words.length === 0 ? '' : `${count} of ${operations.length} operations`;
}

function prepare(operation) {
  const { method, path, access } = operation.dataset;
  if (access === 'session') return;
  const form = element('form', { className: 'try' });
  form.append(element('h4', { textContent: 'Try it out' }));
  const fields = [...operation.querySelectorAll('[data-parameter]')].map((parameter) => {
    const input = element('input', { autocomplete: 'off', spellcheck: false });
    input.dataset.name = parameter.dataset.parameter;
    input.dataset.in = parameter.dataset.in;
    input.required = parameter.dataset.in === 'path';
    form.append(labelled(input, parameter.dataset.parameter));
    return input;
  });
  const example = operation.querySelector('[data-body]');
  const body = example && element('textarea', { value: example.textContent, spellcheck: false });
  if (body) form.append(labelled(body, example.dataset.body));
  const send = element('button', { type: 'submit', textContent: `Send ${method}` });
  const stop = element('button', { type: 'button', textContent: 'Stop', className: 'second', hidden: true });
  const buttons = element('div', { className: 'buttons' });
  buttons.append(send, stop);
  const status = element('p', { className: 'status' });
  status.setAttribute('role', 'status');
  const answer = element('pre', { className: 'answer', hidden: true, tabIndex: 0 });
  form.append(buttons, status, answer);
  operation.querySelector('.about').append(form);

  let calling;
  stop.addEventListener('click', () => calling?.abort());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (access === 'key' && key.value.trim() === '') {
      status.textContent = 'Enter an API key above first.';
      key.focus();
      return;
    }
    calling = new AbortController();
    send.disabled = true;
    stop.hidden = false;
    answer.hidden = true;
    answer.textContent = '';
    status.textContent = 'Sending…';
    try {
      const response = await fetch(addressOf(path, fields), {
        method,
        headers: headersOf(access, fields, example?.dataset.body),
        ...(body && { body: body.value }),
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        signal: calling.signal,
      });
      status.textContent = `${response.status} ${response.statusText}`.trim();
      answer.hidden = false;
      await show(response, answer);
    } catch (error) {
      if (error.name !== 'AbortError') status.textContent = `Request failed: ${error.message}`;
    } finally {
      send.disabled = false;
      stop.hidden = true;
    }
  });
}

function addressOf(path, fields) {
  const query = new URLSearchParams();
  let address = path;
  for (const { value, dataset } of fields) {
    if (dataset.in === 'path') address = address.replace(`{${dataset.name}}`, encodeURIComponent(value));
    else if (dataset.in === 'query' && value !== '') query.set(dataset.name, value);
  }
  return query.size === 0 ? address : `${address}?${query}`;
}

function headersOf(access, fields, type) {
  const headers = new Headers(type === undefined ? {} : { 'content-type': type });
  if (access === 'key') headers.set('x-api-key', key.value.trim());
  for (const { value, dataset } of fields)
    if (dataset.in === 'header' && value !== '') headers.set(dataset.name, value);
  return headers;
}

/** Shows a reply as it arrives, since a stream of events has no end. Complete JSON is then indented. */
async function show(response, answer) {
  const type = response.headers.get('content-type') ?? '';
  if (!/json|text|xml/.test(type)) {
    answer.textContent = `${(await response.arrayBuffer()).byteLength} bytes of ${type || 'unknown type'}`;
    return;
  }
  let text = '';
  for await (const part of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
    text += part;
    answer.textContent = text.slice(-MOST_SHOWN);
  }
  if (/json/.test(type)) answer.textContent = JSON.stringify(JSON.parse(text), null, 2).slice(0, MOST_SHOWN);
}

async function* chunks(stream) {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

function labelled(field, text) {
  const label = element('label', { textContent: text });
  label.append(field);
  return label;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
