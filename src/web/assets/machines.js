/* Highlights a machine's last transition on the operators' pages. live.js keeps them up to date. */
const changed = new Set();
/** The last transition of the page's machine. */
let taken;

document.addEventListener('dormouse:event', ({ detail: { data: step } }) => {
  changed.add(step.id);
  if (document.querySelector('[data-only]')?.dataset.only === step.id) light((taken = step));
});

document.addEventListener('dormouse:renewed', () => {
  const told = new Set(changed);
  changed.clear();
  if (taken && document.querySelector('[data-path]')?.dataset.path === taken.toPath) light(taken);
  for (const row of document.querySelectorAll('[data-machine]'))
    if (told.has(row.dataset.machine)) row.classList.add('changed');
});

/** Highlights the state just entered and the transition that led there, before the page is refreshed. */
function light({ fromPath, toPath }) {
  for (const state of document.querySelectorAll('[data-state]')) {
    const { state: path } = state.dataset;
    state.classList.toggle('lit', isIn(path, toPath));
  }
  for (const edge of document.querySelectorAll('[data-from]')) {
    edge.classList.toggle('lit', isIn(edge.dataset.from, toPath));
    // Highlighted edges are drawn on top.
    if (edge.classList.contains('lit')) edge.parentNode.append(edge);
    edge.classList.toggle('taken', isIn(edge.dataset.from, fromPath) && isIn(edge.dataset.to, toPath));
  }
}

function isIn(state, path) {
  return state === path || path.startsWith(`${state}.`);
}
