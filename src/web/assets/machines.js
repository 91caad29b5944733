/* What the operators' pages have beside being live (live.js): the way a machine went is lit. */
const changed = new Set();
/** The last step of the one machine that the page is about. */
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

/** Lights the state a machine has just entered, and the way it went, before the page is asked for again. */
function light({ fromPath, toPath }) {
  for (const state of document.querySelectorAll('[data-state]')) {
    const { state: path } = state.dataset;
    state.classList.toggle('lit', isIn(path, toPath));
  }
  for (const edge of document.querySelectorAll('[data-from]')) {
    edge.classList.toggle('lit', isIn(edge.dataset.from, toPath));
    // What is lit is drawn over what is not.
    if (edge.classList.contains('lit')) edge.parentNode.append(edge);
    edge.classList.toggle('taken', isIn(edge.dataset.from, fromPath) && isIn(edge.dataset.to, toPath));
  }
}

function isIn(state, path) {
  return state === path || path.startsWith(`${state}.`);
}
