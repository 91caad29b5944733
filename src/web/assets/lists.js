/*
 * Filters a list while its reader types. A form with `data-search` becomes the page's address, and the parts marked
 * `data-live` follow. Without scripts, the form's button does that.
 */
const PAUSE_MS = 200;
let waiting;

document.addEventListener('input', ({ target }) => {
  const form = target.closest('form[data-search]');
  if (!form) return;
  clearTimeout(waiting);
  waiting = setTimeout(follow, PAUSE_MS, form);
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('form[data-search]')) return;
  event.preventDefault();
  clearTimeout(waiting);
  follow(event.target);
});

function follow(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== '');
  const query = new URLSearchParams(fields).toString();
  const address = form.getAttribute('action') + (query === '' ? '' : `?${query}`);
  history.replaceState(null, '', address);
  document.querySelector('[data-here]').dataset.here = address;
  document.dispatchEvent(new CustomEvent('dormouse:refresh'));
}
