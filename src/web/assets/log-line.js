/*
 * Splits a line of a game's log into pieces of one colour each, and finds warnings and errors. The server's page and its script
 * both use it, so they show the same.
 */

/** Escape sequences (ECMA-48 §5.4; colours are SGR, which ends in `m`), the game's own colours, and unprintable characters. */
const CODES = /(?!\t)\p{Cc}\[([\d;:]*)m|(?!\t)\p{Cc}\[[\d;:?]*[A-Za-z]|§([0-9a-fk-or])|(?!\t)\p{Cc}/giu;
/** The 16 colours of a terminal as red, green and blue. */
const COLOURS = [
  [0, 0, 0],
  [170, 0, 0],
  [0, 170, 0],
  [255, 170, 0],
  [0, 0, 170],
  [170, 0, 170],
  [0, 170, 170],
  [170, 170, 170],
  [85, 85, 85],
  [255, 85, 85],
  [85, 255, 85],
  [255, 255, 85],
  [85, 85, 255],
  [255, 85, 255],
  [85, 255, 255],
  [255, 255, 255],
];
/** The terminal colour of each of the game's colours, `§0` to `§f`. */
const OF_GAME = [0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15];
const LEVEL = /[[/ ](?:(WARN(?:ING)?)|ERROR|FATAL|SEVERE)\]/;
/** A player who speaks, joins or leaves. Names of Bedrock players may begin with a dot or a star. */
const PLAYER =
  /\]: (?:\[Not Secure\] )?(?:<([.*]?\w{1,16})> |([.*]?\w{1,16})(?: (?:joined|left) the game| lost connection: |\[\/))/d;
const GOES_ON = /^(?:\s+at |\s+\.\.\. \d+ |\s*Caused by: |\s*Suppressed: )/;

/** Returns `[{ text, look }]`. `look` has the names of classes, or '' for none. No part is markup. */
export function logPieces(line) {
  const pieces = [];
  let colour;
  let isBold = false;
  let from = 0;
  for (const match of line.matchAll(CODES)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) follow(match[1]);
    else if (match[2] !== undefined) followGame(match[2].toLowerCase());
  }
  add(line.slice(from));
  return pieces;

  function add(text) {
    if (text === '') return;
    const look = [colour === undefined ? '' : `c${colour}`, isBold ? 'strong' : ''].filter(Boolean).join(' ');
    pieces.push({ text, look });
  }

  function follow(codes) {
    const numbers = codes.split(/[;:]/).map(Number);
    while (numbers.length > 0) {
      const code = numbers.shift();
      if (code === 0) [colour, isBold] = [undefined, false];
      else if (code === 1) isBold = true;
      else if (code === 22) isBold = false;
      else if (code === 39) colour = undefined;
      else if (code >= 30 && code <= 37) colour = code - 30;
      else if (code >= 90 && code <= 97) colour = code - 82;
      else if (code === 38) colour = longColour(numbers) ?? colour;
      else if (code === 48) longColour(numbers);
    }
  }

  function followGame(code) {
    const nth = '0123456789abcdef'.indexOf(code);
    if (nth >= 0) colour = OF_GAME[nth];
    else if (code === 'r') [colour, isBold] = [undefined, false];
    else if (code === 'l') isBold = true;
  }
}

/** Returns the pieces of a line with the name of its player, if it has one, as a piece of its own, marked `isPlayer`. */
export function linePieces(line) {
  const pieces = logPieces(line);
  const { indices } =
    PLAYER.exec(
      pieces
        .map(({ text }) => text)
        .join('')
        .slice(0, 200),
    ) ?? {};
  const [from, to] = indices?.[1] ?? indices?.[2] ?? [];
  if (from === undefined) return pieces;
  let at = 0;
  return pieces.flatMap(({ text, look }) => {
    const [start, end] = [from - at, to - at];
    at += text.length;
    if (start < 0 || end > text.length) return [{ text, look }];
    return [
      { text: text.slice(0, start), look },
      { text: text.slice(start, end), look, isPlayer: true },
      { text: text.slice(end), look },
    ].filter((piece) => piece.text !== '');
  });
}

/** Returns the nearest terminal colour for an extended colour (256 or RGB), and removes its codes from `numbers`. */
function longColour(numbers) {
  const kind = numbers.shift();
  if (kind === 2) return nearest(numbers.splice(0, 3));
  if (kind !== 5) return undefined;
  const [nth = 0] = numbers.splice(0, 1);
  if (nth < 16) return nth;
  if (nth >= 232) return nearest(Array(3).fill((nth - 232) * 10 + 8));
  const step = (count) => [0, 95, 135, 175, 215, 255][Math.floor((nth - 16) / count) % 6];
  return nearest([step(36), step(6), step(1)]);
}

function nearest(wanted) {
  const far = COLOURS.map((each) => each.reduce((sum, part, nth) => sum + (part - (wanted[nth] ?? 0)) ** 2, 0));
  return far.indexOf(Math.min(...far));
}

/** Whether a line belongs to the stack trace of the line before it. */
export function isOfTrace(line) {
  return GOES_ON.test(line.slice(0, 200));
}

/** Returns `warn`, `error` or ''. A stack trace continues `before`, the level of the previous line. */
export function logLevel(line, before) {
  if (isOfTrace(line)) return before;
  const text = line.slice(0, 200);
  const head = text.startsWith('[') || /^(?!\t)\p{Cc}/u.test(text) ? text.slice(0, text.indexOf(']: ') + 1) : '';
  const match = LEVEL.exec(head);
  if (match) return match[1] === undefined ? 'error' : 'warn';
  return /^[\w.$]{1,100}(?:Exception|Error)(?::|$)/.test(text) ? 'error' : '';
}
