/*
 * Shows what a form would make while somebody fills it in: what its button marked `data-preview` leads to is asked for, and of
 * that page the part of this id is put in the place of the present one. Without a script the button is pressed.
 */
const QUIET_MS = 250;
let timer;
let asked = 0;

document.addEventListener('input', ({ target }) => {
  const button = target.form?.querySelector('[data-preview]');
  if (!button) return;
  clearTimeout(timer);
  timer = setTimeout(() => void show(target.form, button), QUIET_MS);
});

async function show(form, button) {
  const mine = ++asked;
  const body = new URLSearchParams(new FormData(form));
  const answer = await fetch(button.formAction, { method: 'POST', body, headers: { accept: 'text/html' } });
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const next = fresh.getElementById(button.dataset.preview);
  // Answers may come in another order than they were asked for.
  if (next && mine === asked) Idiomorph.morph(document.getElementById(button.dataset.preview), next);
}
