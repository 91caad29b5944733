/*
 * The text editor. A coloured copy of the text lies behind the field, unless the text is too long. Saving keeps the page open.
 * Tab moves to the next field, as on every page.
 */
const MOST_COLOURED = 200_000;
/** Texts up to this length are coloured at each key, longer ones at a pause. */
const AT_ONCE = 20_000;
const PAUSE_MS = 200;

let form;
let sheet;
let area;
let layer;
let told;
let language;
let saved;
let timer;

begin();
document.addEventListener('keydown', (event) => {
  if (!form || event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  void save();
});
// A browser may have restored earlier input.
addEventListener('pageshow', () => form && changed());
addEventListener('beforeunload', (event) => form && area.value !== saved && event.preventDefault());

/** Uses the page's current form. A file that cannot be edited has none. */
function begin() {
  form = document.querySelector('[data-editor]');
  if (!form) return;
  sheet = form.querySelector('.sheet');
  area = form.elements.content;
  layer = form.querySelector('[data-layer]');
  told = form.querySelector('[data-saved]');
  language = Prism.languages[sheet.dataset.language];
  saved = area.value;
  area.addEventListener('input', changed);
  area.addEventListener('scroll', follow);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void save();
  });
  changed();
}

function changed() {
  if (told.textContent !== '') told.textContent = '';
  clearTimeout(timer);
  const isColoured = language && area.value.length <= MOST_COLOURED;
  if (isColoured && area.value.length <= AT_ONCE) {
    colour();
    return;
  }
  sheet.classList.remove('coloured');
  if (isColoured) timer = setTimeout(colour, PAUSE_MS);
}

function colour() {
  // The last line keeps the layer as high as the field.
  layer.replaceChildren(...Prism.tokenize(area.value, language).map(nodeOf), '\n ');
  sheet.classList.add('coloured');
  follow();
}

/** Converts a token to an element with text, never to markup. */
function nodeOf(token) {
  if (typeof token === 'string') return document.createTextNode(token);
  const node = document.createElement('span');
  node.className = [token.type, ...[token.alias ?? []].flat()].join(' ');
  node.append(...[token.content].flat().map(nodeOf));
  return node;
}

function follow() {
  layer.scrollTop = area.scrollTop;
  layer.scrollLeft = area.scrollLeft;
}

async function save() {
  if (form.ariaBusy === 'true') return;
  form.ariaBusy = 'true';
  const [sent, text] = [area, area.value];
  sent.readOnly = true;
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const version = page.querySelector('[data-editor] [name=version]')?.value;
    if (answer.redirected && version !== undefined) {
      form.elements.version.value = version;
      saved = text;
      told.textContent = 'Saved.';
    } else if (version === undefined) {
      told.textContent = 'Not saved. Sign in again in another tab, then save. Your text is still here.';
    } else showRefusal(page);
  } catch {
    told.textContent = 'No answer from the server. Your text is still here: save it again.';
  } finally {
    sent.readOnly = false;
    form.ariaBusy = null;
  }
}

/** Shows the page with the reason that the file was not saved. It contains what was typed. */
function showRefusal(page) {
  const main = page.getElementById('main');
  if (!main) throw new Error('unexpected page');
  document.getElementById('main').replaceWith(main);
  begin();
  // The text is not saved yet.
  saved = undefined;
  document.dispatchEvent(new CustomEvent('dormouse:renewed'));
  document.querySelector('[role=alert]')?.scrollIntoView({ block: 'nearest' });
}
