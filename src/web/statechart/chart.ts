import { type Html, html } from '../html.ts';
import { type Box, type Drawing, FONT_PX, layOut } from './chart-layout.ts';
import { readChart } from './statechart.ts';

/** Cached, because definitions do not change while the service runs. */
const known = new WeakMap<object, { broad: Drawing; slim: Drawing }>();

/**
 * Draws a machine's statechart from its definition (plain JSON) with the current state highlighted. There are two
 * drawings, for wide and narrow windows, and the stylesheet shows one of them. `path` is the current state; an unknown
 * path highlights nothing.
 */
export function chart(definition: object, path: string): Html {
  let drawings = known.get(definition);
  if (!drawings) {
    const root = readChart(definition);
    drawings = { broad: layOut(root, 2), slim: layOut(root, 1) };
    known.set(definition, drawings);
  }
  return html`<div class="chart">${drawn(drawings.broad, path, 'broad')}${drawn(drawings.slim, path, 'slim')}</div>`;
}

function drawn({ width, height, boxes, edges }: Drawing, path: string, form: 'broad' | 'slim'): Html {
  const outer = boxes.filter(({ state }) => state.states.length > 0);
  const leaves = boxes.filter(({ state }) => state.states.length === 0);
  return html`<svg
    class="${form}"
    viewBox="0 0 ${width} ${height}"
    width="${width}"
    height="${height}"
    font-size="${FONT_PX}"
    role="img"
    aria-label="Statechart. Current state: ${path}."
  >
    ${outer.map((box) => frame(box, path))}
    <g>
      ${edges
        .toSorted((a, b) => Number(isIn(a.from, path)) - Number(isIn(b.from, path)))
        .map(
          ({ from, to, line, head }) =>
            // The line and its arrow head.
            html`<g data-from="${from}" data-to="${to}" ${isIn(from, path) && html`class="lit"`}
              ><path d="${line}" /><path d="${head}"
            /></g>`,
        )}
    </g>
    ${leaves.map((box) => frame(box, path))}
  </svg>`;
}

function frame({ state, x, y, width, height, textX, lines }: Box, path: string): Html {
  const kind = state.states.length > 0 ? 'outer' : state.final ? 'final' : '';
  const classes = [kind, isIn(state.path, path) ? 'lit' : ''].filter(Boolean).join(' ');
  return html`<g data-state="${state.path}" ${classes !== '' && html`class="${classes}"`}>
    <rect x="${x}" y="${y}" width="${width}" height="${height}" rx="9" />
    ${state.initial && html`<circle class="initial" cx="${textX + 4}" cy="${y + 14}" r="4" />`}
    <text x="${state.initial ? textX + 14 : textX}" y="${y + 18}">${state.name}</text>
    ${lines.map((line) => {
      const words = html`${line.text}${line.target !== '' && html`<tspan> ${line.target}</tspan>`}`;
      return html`<text x="${textX}" y="${line.y + 4}" ${line.kind === 'note' && html`class="note"`}>${words}</text>`;
    })}
  </g>`;
}

function isIn(state: string, path: string): boolean {
  return state === path || path.startsWith(`${state}.`);
}
