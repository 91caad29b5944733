/*
 * Finds servers, pages and the actions of the page by keyboard. Typing narrows the list, which is a combobox (WAI-ARIA
 * Authoring Practices). `panel.js` loads this file at the first Ctrl K.
 */
const MOST_SHOWN = 12;
const SERVER = /^\/servers\/(?!new$)[a-z0-9-]+$/;
const palette = document.createElement('dialog');
palette.className = 'palette';
palette.setAttribute('aria-label', 'Go to');
palette.innerHTML = `<input type="text" role="combobox" aria-label="Server, page or action" aria-controls="found"
  aria-expanded="true" aria-autocomplete="list" autocomplete="off" spellcheck="false" maxlength="100">
  <ul id="found" role="listbox" aria-label="Results"></ul><p class="empty" role="status"></p>`;
const [finder, results, remark] = palette.children;
let entries = [];
let chosen = 0;

/** Opens the list, or closes it if it is open. */
export function toggle() {
  if (palette.open) palette.close();
  else openPalette();
}

function openPalette() {
  document.body.append(palette);
  entries = [...buttonsHere(), ...linksHere()];
  finder.value = '';
  palette.showModal();
  list();
  void addServers();
}

/** The buttons beside the page's heading. */
function buttonsHere() {
  const buttons = document.querySelectorAll('.head .actions > button, .head .actions > form > button');
  return [...buttons].map((button) => ({ text: button.innerText, of: 'action', go: () => button.click() }));
}

/** The pages beside this one, then the parts of the panel. */
function linksHere() {
  return [...document.querySelectorAll('.rail a, .menu a')].map((link) => ({
    text: link.textContent.trim(),
    of: link.closest('.rail')?.ariaLabel ?? 'panel',
    go: () => location.assign(link.href),
  }));
}

/** Adds the servers on the list of servers, by the links of that page. */
async function addServers() {
  try {
    const answer = await fetch('/servers', { headers: { accept: 'text/html' }, redirect: 'error' });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const links = [...page.querySelectorAll('main a')].filter((link) => SERVER.test(link.getAttribute('href')));
    for (const link of links) {
      const of = `server ${link.pathname.slice('/servers/'.length)}`;
      entries.push({ text: link.textContent.trim(), of, go: () => location.assign(link.href) });
    }
    // The servers are added at the end, so the reader's choice stays.
    const before = chosen;
    list();
    choose(before);
  } catch {
    // The service is away, or the session has ended. The page shows it.
  }
}

/** Shows the entries that contain every word of the search. */
function list() {
  const words = finder.value.toLowerCase().split(/\s+/);
  const found = entries.filter(({ text, of }) => words.every((word) => `${text} ${of}`.toLowerCase().includes(word)));
  results.replaceChildren(...found.slice(0, MOST_SHOWN).map(optionOf));
  results.hidden = found.length === 0;
  finder.ariaExpanded = String(found.length > 0);
  remark.textContent = found.length === 0 ? 'No matches.' : '';
  choose(0);
}

function optionOf({ text, of, go }, nth) {
  const option = document.createElement('li');
  const kind = document.createElement('small');
  option.id = `found-${nth}`;
  option.role = 'option';
  kind.textContent = of;
  option.append(text, ' ', kind);
  option.addEventListener('click', () => {
    palette.close();
    go();
  });
  return option;
}

function choose(nth) {
  const options = [...results.children];
  chosen = options.length === 0 ? 0 : (nth + options.length) % options.length;
  for (const [place, option] of options.entries()) option.ariaSelected = String(place === chosen);
  finder.setAttribute('aria-activedescendant', options[chosen]?.id ?? '');
  options[chosen]?.scrollIntoView({ block: 'nearest' });
}

finder.addEventListener('input', list);
finder.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined) choose(chosen + step);
  else if (event.key === 'Enter') results.children[chosen]?.click();
  else return;
  event.preventDefault();
});
palette.addEventListener('click', ({ target }) => {
  if (target === palette) palette.close();
});
