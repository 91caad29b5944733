/*
 * Previews a form while it is filled in. Posts the form to the address of its `data-preview` button and replaces the element of
 * that id with the one in the reply. Without scripts, the button does the same.
 */
const QUIET_MS = 250;
let timer;
let asked = 0;

document.addEventListener('input', ({ target }) => preview(target.form));
// Input from before this script loaded.
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
  // Replies may arrive out of order.
  if (next && mine === asked) Idiomorph.morph(document.getElementById(button.dataset.preview), next);
}
