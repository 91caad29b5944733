/*
 * Recognises files that are dropped on a page of a server, and puts them where they belong once the reader agrees.
 * `panel.js` loads this file at the first drop.
 */
const panel = document.querySelector('.panel');
const { csrf, drop: api, server } = panel.dataset;
const box = document.createElement('dialog');
box.className = 'palette';
box.setAttribute('aria-label', 'Dropped files');
const MOST_FILES = 20;
const ICON = 'server-icon.png';

/** Opens a list of the files, each with the places where it may go. */
export async function take(files) {
  const folders = files.some(isProgram) ? await foldersOfPrograms() : [];
  const lines = files.slice(0, MOST_FILES).map((file) => lineOf(file, folders));
  if (files.length > MOST_FILES)
    lines.push(element('p', { textContent: 'Only the first 20 are shown. The page Files takes thousands at once.' }));
  const close = button('Close', () => box.close());
  // Uploads of an earlier drop go on.
  if (box.open) return box.prepend(...lines);
  box.replaceChildren(...lines, close);
  document.body.append(box);
  box.showModal();
}

function isProgram({ name }) {
  return /\.jar$/i.test(name);
}

/** Returns the folders of mods and plugins that the server's software loads, as its page of mods names them. */
async function foldersOfPrograms() {
  try {
    const answer = await fetch(`/servers/${server}/mods`, { headers: { accept: 'text/html' }, redirect: 'error' });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return (page.querySelector('[data-folders]')?.dataset.folders ?? '').split(' ').filter(Boolean);
  } catch {
    // The service is away, or the session has ended. The page shows it.
    return [];
  }
}

function lineOf(file, folders) {
  const line = element('div');
  const told = element('p', { role: 'status' });
  const actions = element('p', { className: 'actions' });
  actions.append(
    ...placesOf(file, folders).map(([label, go], nth) =>
      button(label, () => go(file, told, actions), nth === 0 ? '' : 'second'),
    ),
  );
  line.append(element('strong', { textContent: file.name }), told, actions);
  return line;
}

/** Returns what can be done with a file: texts of buttons and their work, the most likely first. */
function placesOf({ name, type }, folders) {
  const asFile = ['Put it into the server’s folder', put(name)];
  if (isProgram({ name }))
    return [...folders.map((folder) => [`Add it to ${folder}`, put(`${folder}/${name}`)]), asFile];
  if (/\.(?:zip|tar|tgz|tzst|gz|zst)$/i.test(name))
    return [
      ['Add its world to this server', unpack(`/servers/${server}/worlds?import=`)],
      ['Create a new server from it', unpack('/servers/new/import/')],
      asFile,
    ];
  if (/\.mrpack$/i.test(name)) return [['Create a new server from this pack', unpack('/servers/new/import/')], asFile];
  if (type.startsWith('image/')) return [['Use it as the server’s icon', put(ICON)], asFile];
  return [asFile];
}

/** Returns the upload of a file to a path of the server. Afterwards it can be undone. */
function put(path, overwrite = false) {
  return async (file, told, actions) => {
    actions.replaceChildren();
    const content = path === ICON ? await iconOf(file) : file;
    if (path === ICON && content.type !== 'image/png') {
      told.textContent = 'Your browser can’t convert this picture. Choose a PNG or JPEG.';
      return;
    }
    const answer = await send(`file:upload?${new URLSearchParams({ path, overwrite })}`, content, told);
    if (answer.ok && overwrite) told.textContent = `${path} is replaced. This applies from the next start.`;
    else if (answer.ok) {
      told.textContent = `${path} is in place. This applies from the next start.`;
      actions.append(button('Undo', () => remove(path, told, actions)));
    } else if (answer.reason === 'PATH_EXISTS') {
      told.textContent = `${path} already exists.`;
      actions.append(button('Replace', () => put(path, true)(file, told, actions)));
    } else told.textContent = answer.message;
  };
}

/** Returns the upload of an archive, after which a page shows what is in it. */
function unpack(page) {
  return async (file, told, actions) => {
    actions.replaceChildren();
    const answer = await send(`/v1/imports?${new URLSearchParams({ name: file.name.slice(-256) })}`, file, told);
    if (answer.ok) location.assign(page + answer.id);
    else told.textContent = answer.message;
  };
}

/** Deletes an uploaded file by the form of its page. */
async function remove(path, told, actions) {
  actions.replaceChildren();
  const form = `/servers/${server}/files/item/delete?${new URLSearchParams({ path })}`;
  const sent = fetch(form, { method: 'POST', body: new URLSearchParams({ csrf }), headers: { accept: 'text/html' } });
  const isGone = await sent.then(({ ok }) => ok).catch(() => false);
  told.textContent = isGone ? `${path} is removed.` : `${path} could not be removed. Remove it on the page Files.`;
}

/** Sends bytes to a path of the API, by default of this server, and shows the progress. Never rejects. */
function send(path, body, told) {
  const request = new XMLHttpRequest();
  request.open('POST', `${api}${path.startsWith('/') ? path : `/v1/servers/${server}/${path}`}`);
  request.setRequestHeader('x-csrf-token', csrf);
  request.setRequestHeader('content-type', 'application/octet-stream');
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    told.textContent = `${Math.floor((100 * loaded) / Math.max(1, total))} % uploaded…`;
  });
  const stop = () => request.abort();
  box.addEventListener('close', stop);
  return new Promise((resolve) => {
    request.addEventListener('loadend', () => {
      box.removeEventListener('close', stop);
      resolve(answerOf(request));
    });
    request.send(body);
  });
}

function answerOf({ status, responseText }) {
  try {
    const { id, message, details } = JSON.parse(responseText);
    return { ok: status === 200, id, message, reason: details?.[0]?.reason };
  } catch {
    return { ok: false, message: 'The connection was lost. Drop the file again.' };
  }
}

function button(label, act, className = 'second') {
  const made = element('button', { type: 'button', className, textContent: label });
  made.addEventListener('click', act);
  return made;
}

function element(name, fields = {}) {
  return Object.assign(document.createElement(name), fields);
}
