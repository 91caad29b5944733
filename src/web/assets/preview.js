/*
 * Previews a form while somebody fills it in. Posts the form to the address of its button marked `data-preview` and replaces the
 * element of that id by the one in the answer. Without a script, people press the button.
 */
const QUIET_MS = 250;
let timer;
let asked = 0;

document.addEventListener('input', ({ target }) => preview(target.form));
// What somebody typed before this script was loaded.
for (const { form, value, defaultValue } of document.querySelectorAll('form:has([data-preview]) textarea'))
  if (value !== defaultValue) preview(form);

function preview(form) {
  const button = form?.querySelector('[data-preview]');
  if (!button) return;
  clearTimeout(timer);
  timer = setTimeout(() => void show(form, button), QUIET_MS);
}

async function show(form, button) {
  const mine = ++asked;
  const body = new URLSearchParams(new FormData(form));
  const answer = await fetch(button.formAction, { method: 'POST', body, headers: { accept: 'text/html' } });
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const next = fresh.getElementById(button.dataset.preview);
  // Answers may arrive in another order than their requests.
  if (next && mine === asked) Idiomorph.morph(document.getElementById(button.dataset.preview), next);
}
