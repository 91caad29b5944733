/*
 * Filters a list while its reader types. A form with `data-search` becomes the page's address, and the parts marked
 * `data-live` narrow. Without scripts, the form's button does that.
 */
const PAUSE_MS = 200;
let typing;

document.addEventListener('input', ({ target }) => {
  const form = target.closest('form[data-search]');
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(narrow, PAUSE_MS, form);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('form[data-search]')) return;
  event.preventDefault();
  clearTimeout(typing);
  narrow(event.target);
});

function narrow(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== '');
  const query = new URLSearchParams(fields).toString();
  const address = form.getAttribute('action') + (query === '' ? '' : `?${query}`);
  history.replaceState(null, '', address);
  document.querySelector('[data-here]').dataset.here = address;
  document.dispatchEvent(new CustomEvent('dormouse:refresh'));
}
