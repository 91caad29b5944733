import type { ChartState } from './statechart.ts';

/** A line of text in a box: events, and the target after them. */
interface Line {
  y: number;
  text: string;
  /** '' unless the line ends an exit. */
  target: string;
  kind: 'exit' | 'note';
}

/** The position of a state. */
export interface Box {
  state: ChartState;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The x position of its text. */
  textX: number;
  lines: Line[];
}

/** A transition between two states: from the side of a box along a lane into the side of another. */
interface Edge {
  from: string;
  to: string;
  /** SVG path data. */
  line: string;
  head: string;
}

/** A drawing in px at its natural size. Outer boxes come before inner ones. */
export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  edges: Edge[];
}

/** The size of the drawing's monospaced text. */
export const FONT_PX = 12;
const CHAR = FONT_PX * 0.605;
const HEADER = 27;
const ROW = 18;
const GAP = 27;
const PAD = 9;
/** A whole number of pixels, because a fraction would add two characters in hundreds of places. */
const HALF_PAD = 5;
const LANE = 9;
/** A box's width, in two columns and alone. */
const COLUMN = { 1: 279, 2: 324 };
const MARGIN = 4;
const CORNER = 6;
const HEAD = 6;

/** A transition without a lane yet. */
interface Way {
  from: Box;
  to: Box;
  y: number;
}

/**
 * Lanes beside or between boxes. All transitions to a state share one, and thus look like one line with many starts.
 */
interface Gutter {
  ways: Way[];
  x: number;
  /** -1: lanes extend to the left of `x`. */
  towards: 1 | -1;
}

/**
 * Places a statechart's states in one column or two, and routes transitions through lanes beside or between the
 * columns. Lines cross no text, and each can be followed from start to end. States keep the machine's order.
 */
export function layOut(root: ChartState, columns: 1 | 2): Drawing {
  const column = COLUMN[columns];
  const tops = root.exits.length > 0 ? [anyState(root), ...root.states] : root.states;
  const split = columns === 1 ? tops.length : evenSplit(tops, column);
  const placed = [tops.slice(0, split), tops.slice(split)].map((states, nth) => stack(states, nth * 9, column));
  const boxes = placed.flat(2);
  const columnOf = new Map(placed.flatMap((boxes, nth) => boxes.flat().map((box) => [box, nth] as const)));
  const byId = new Map(boxes.map((box) => [box.state.id, box]));

  const outer: Gutter[] = [gutter(-1), gutter(columns === 1 ? 1 : -1), gutter(1)];
  const inner = new Map<Box, Gutter>();
  for (const from of boxes) {
    for (const [nth, { target }] of from.state.exits.entries()) {
      const to = byId.get(target);
      if (!to) continue;
      const y = exitLines(from)[nth]?.y ?? from.y;
      gutterOf(from, to).ways.push({ from, to, y });
    }
  }

  function gutterOf(from: Box, to: Box): Gutter {
    const parent = commonParent(from, to, boxes);
    if (parent) {
      const lanes = inner.get(parent) ?? gutter(1);
      inner.set(parent, lanes);
      return lanes;
    }
    const [a, b] = [columnOf.get(from), columnOf.get(to)];
    if (columns === 1) return outer[to.y > from.y ? 1 : 0]!;
    return a === b ? outer[a === 0 ? 0 : 2]! : outer[1]!;
  }

  const lanes = outer.map((each) => lanesOf(each));
  const left = MARGIN + span(lanes[0]!.count);
  const middle = span(lanes[1]!.count);
  for (const box of boxes) shift(box, left + (columnOf.get(box) === 1 ? column + middle : 0));
  outer[0]!.x = left;
  outer[1]!.x = columns === 1 ? left + column : left + column + middle;
  outer[2]!.x = left + column + middle + column;
  for (const [parent, each] of inner) each.x = parent.x;

  const edges = [
    ...outer.map((each, nth) => [each, lanes[nth]!] as const),
    ...[...inner].map(([, each]) => [each, lanesOf(each)] as const),
  ].flatMap(([each, { laneOf }]) => each.ways.map((way) => edge(way, each, laneOf(way.to))));
  const right = columns === 1 ? middle : span(lanes[2]!.count);
  const width = columns === 1 ? left + column + right : outer[2]!.x + right;
  return {
    width: width + MARGIN,
    height: Math.max(...boxes.map(({ y, height }) => y + height)) + MARGIN,
    boxes,
    edges,
  };
}

function gutter(towards: 1 | -1): Gutter {
  return { ways: [], x: 0, towards };
}

function span(lanes: number): number {
  return lanes === 0 ? 0 : (lanes + 1) * LANE + HEAD;
}

/** The transitions possible in every state, as a separate box. */
function anyState(root: ChartState): ChartState {
  return { ...root, path: '*', name: 'any state', states: [], initial: false, invokes: [] };
}

/** Returns where the second column begins, so that both have about the same length. */
function evenSplit(states: ChartState[], width: number): number {
  const heights = states.map(
    (state) =>
      stack([state], 0, width)
        .flat()
        .reduce((most, box) => Math.max(most, box.height), 0) + GAP,
  );
  const total = heights.reduce((sum, height) => sum + height, 0);
  let best = states.length;
  let least = Infinity;
  for (let split = 1, first = 0; split < states.length; split++) {
    first += heights[split - 1]!;
    const longer = Math.max(first, total - first);
    if (longer < least) [best, least] = [split, longer];
  }
  return best;
}

/** Stacks states, each with its inner states. `shiftY` offsets a column, so that lines of both do not coincide. */
function stack(states: ChartState[], shiftY: number, width: number): Box[][] {
  let y = MARGIN + shiftY;
  return states.map((state) => {
    const boxes = place(state, 0, y, width);
    y += boxes[0]!.height + GAP;
    return boxes;
  });
}

function place(state: ChartState, x: number, y: number, width: number): Box[] {
  const own = new Set(state.states.map(({ id }) => id));
  const inner = x + Math.max(PAD, span(innerLanes(state, own)));
  // A state's transitions to its inner states start at its text and need lanes beside it.
  const textX = state.exits.some(({ target }) => own.has(target)) ? inner : x + PAD;
  const box: Box = { state, x, y, width, height: 0, textX, lines: [] };
  let below = y + HEADER;
  const add = (text: string, target: string, kind: Line['kind']) => {
    box.lines.push({ y: below + ROW / 2, text, target, kind });
    below += ROW;
  };
  const room = Math.floor((x + width - PAD - textX) / CHAR);
  for (const [what, list] of [
    ['runs', state.invokes],
    ['stays on', state.stays],
    ['re-enters on', state.again],
  ] as const) {
    if (list.length > 0) for (const text of wrap(list, room, `${what} `)) add(text, '', 'note');
  }
  for (const { events, target } of state.exits) {
    const name = `→ ${target.slice(target.lastIndexOf('.') + 1)}`;
    const texts = wrap(events, room, '');
    const last = texts.at(-1) ?? '';
    if (last.length + 1 + name.length > room) texts.push('');
    for (const [nth, text] of texts.entries()) add(text, nth === texts.length - 1 ? name : '', 'exit');
  }
  const boxes = [box];
  if (state.states.length > 0) {
    below += HALF_PAD;
    for (const child of state.states) {
      const placed = place(child, inner, below, x + width - PAD - inner);
      boxes.push(...placed);
      below += placed[0]!.height + PAD;
    }
  } else below += HALF_PAD;
  box.height = Math.ceil((below - y) / 9) * 9;
  return boxes;
}

/** Returns the number of lanes for the transitions among a state's inner states. */
function innerLanes(state: ChartState, own: ReadonlySet<string>): number {
  const targets = [state, ...state.states].flatMap(({ exits }) =>
    exits.map(({ target }) => target).filter((id) => own.has(id)),
  );
  return new Set(targets).size;
}

/** Returns the first line of each exit. */
function exitLines({ lines }: Box): Line[] {
  const exits = lines.filter(({ kind }) => kind === 'exit');
  return exits.filter((_, nth) => nth === 0 || exits[nth - 1]!.target !== '');
}

function wrap(list: readonly string[], room: number, first: string): string[] {
  const words = list.map((word, nth) => (nth < list.length - 1 ? `${word}, ` : word));
  const lines = [first];
  for (const text of words.flatMap((word) => (word.trimEnd().length > room ? splitAtGuard(word) : [word]))) {
    const last = lines.length - 1;
    if (lines[last]! !== '' && lines[last]!.length + text.trimEnd().length > room) lines.push(text);
    else lines[last] += text;
  }
  return lines.map((line) => line.trimEnd());
}

function splitAtGuard(word: string): string[] {
  const at = word.indexOf('[');
  return at > 0 ? [word.slice(0, at), word.slice(at)] : [word];
}

/** Returns the innermost state, except the machine itself, that contains or is both states. */
function commonParent(from: Box, to: Box, boxes: Box[]): Box | undefined {
  return boxes.findLast(
    (box) => box.state.states.length > 0 && (box === from || contains(box, from)) && contains(box, to),
  );
}

function contains(box: Box, other: Box): boolean {
  return other.state.path.startsWith(`${box.state.path}.`);
}

function shift(box: Box, by: number): void {
  box.x += by;
  box.textX += by;
}

function entryY({ y }: Box): number {
  return y + Math.floor(HEADER / 2);
}

/** Assigns one lane to each target, short ones closest to the boxes. Lanes that do not overlap are shared. */
function lanesOf({ ways }: Gutter): { count: number; laneOf: (to: Box) => number } {
  const reaches = [...Map.groupBy(ways, ({ to }) => to)].map(([to, all]) => {
    const ys = [entryY(to), ...all.map(({ y }) => y)];
    return { to, top: Math.min(...ys), bottom: Math.max(...ys) };
  });
  reaches.sort((a, b) => a.bottom - a.top - (b.bottom - b.top));
  const lanes: (typeof reaches)[] = [];
  const of = new Map<Box, number>();
  for (const reach of reaches) {
    const free = lanes.findIndex((taken) =>
      taken.every(({ top, bottom }) => reach.bottom + LANE < top || bottom + LANE < reach.top),
    );
    const lane = free === -1 ? lanes.push([]) - 1 : free;
    lanes[lane]!.push(reach);
    of.set(reach.to, lane);
  }
  return { count: lanes.length, laneOf: (to) => of.get(to) ?? 0 };
}

function edge({ from, to, y }: Way, { x, towards }: Gutter, lane: number): Edge {
  const laneX = x + towards * ((lane + 1) * LANE);
  const inside = x === from.x && towards === 1;
  const exitX = inside && from.state.states.length > 0 ? from.textX - 2 : side(from, laneX);
  const entryX = side(to, laneX);
  const endY = entryY(to);
  const into = entryX > laneX ? 1 : -1;
  const away = laneX > exitX ? 1 : -1;
  const down = endY > y ? 1 : -1;
  const r = Math.min(CORNER, Math.abs(endY - y) / 2, Math.abs(laneX - exitX), Math.abs(entryX - laneX));
  const line = [
    `M${exitX} ${y}H${laneX - away * r}`,
    `q${away * r} 0 ${away * r} ${down * r}`,
    `V${endY - down * r}`,
    `q0 ${down * r} ${into * r} ${down * r}`,
    `H${entryX - into * 2}`,
  ].join('');
  const head = `M${entryX} ${endY}l${-into * HEAD}-${HEAD / 2}v${HEAD}z`;
  return { from: from.state.path, to: to.state.path, line, head };
}

/** Returns the side of a box that faces a lane. */
function side({ x, width }: Box, laneX: number): number {
  return laneX > x + width / 2 ? x + width : x;
}
