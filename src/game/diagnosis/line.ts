/**
 * Parses one line of a game's log. Plugins and mods print anything, so every step is linear in the length of the line,
 * which is capped first.
 */

/** Longer lines are cut; no relevant line is longer. */
export const MAX_LINE_CHARS = 2_000;

export interface GameLine {
  /**
   * The program with this line format: the game's logger, the image's scripts, or none (the rest of a message or a
   * stack trace, or plain output).
   */
  source: 'game' | 'image' | 'plain';
  /** `Server thread`, `main`, …; empty if the format has none. */
  thread: string;
  /** `INFO`, `WARN`, …; empty if the line has none. */
  level: string;
  /** The message without prefix, terminal sequences and colour codes. */
  text: string;
  /** The whole line in readable form. */
  plain: string;
}

const ESCAPE = String.fromCodePoint(0x1b);
/**
 * Colours and cursor movements (ECMA-48 §5.4) and window titles. Each alternative stops at the next escape, so matching
 * is linear.
 */
export const TERMINAL_SEQUENCE = new RegExp(
  String.raw`${ESCAPE}(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007${ESCAPE}]*|[@-Z\\^_])`,
  'g',
);
/** Control and direction-changing characters, except the tab. */
const INVISIBLE = /(?!\t)[\p{Cc}\p{Cf}]/gu;
const COLOUR_CODE = /§[0-9a-fk-or]/gi;

/**
 * `[12:00:00] [Server thread/INFO]: …`, with Forge's date, milliseconds and logger: `[29Oct2024 16:59:04.632]
 * [main/INFO] [a.b.C/]: …`.
 */
const LOGGER_FORM =
  /^\[[\w:. ]{5,32}\] \[([^\]]{1,80})\/(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\](?: \[[^\]]{0,200}\]){0,2}: ?(.*)$/;
/** Paper's console: `[12:00:00 INFO]: …`. */
const PAPER_FORM = /^\[[\d:.]{5,16} (TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\]: (.*)$/;
/** The image's scripts: `[init] …`, with `LOG_TIMESTAMP` also `[init] 2026-04-20 15:44:40+00:00 …`. */
const INIT_FORM = /^\[init\] (?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S{0,6} )?(.*)$/;
/** The image's helper: `[mc-image-helper] 04:25:19.290 INFO  : …`. */
const HELPER_FORM = /^\[mc-image-helper\] [\d:.]{5,16} (TRACE|DEBUG|INFO|WARN|ERROR)\s{0,4}: (.*)$/;

/**
 * Returns the readable text of a line: no terminal sequences, no control or direction characters, at most {@link
 * MAX_LINE_CHARS}.
 */
function plainText(line: string): string {
  const short = line.length > MAX_LINE_CHARS ? line.slice(0, MAX_LINE_CHARS) : line;
  return short.replaceAll(TERMINAL_SEQUENCE, '').replaceAll(INVISIBLE, '').toWellFormed().trimEnd();
}

/** Parses a line. Never throws. */
export function readGameLine(line: string): GameLine {
  // A console without a terminal prints its prompt before the next message.
  const plain = plainText(line).replace(/^[>. ]{1,8}(?=\[)/, '');
  const bare = plain.replaceAll(COLOUR_CODE, '');
  const [, thread = '', level = '', text = ''] = LOGGER_FORM.exec(bare) ?? [];
  if (level) return { source: 'game', thread, level, text, plain };
  const paper = PAPER_FORM.exec(bare);
  if (paper) return { source: 'game', thread: '', level: paper[1] ?? '', text: paper[2] ?? '', plain };
  const helper = HELPER_FORM.exec(bare);
  if (helper) return { source: 'image', thread: '', level: helper[1] ?? '', text: helper[2] ?? '', plain };
  const init = INIT_FORM.exec(bare);
  if (init) return { source: 'image', thread: '', level: '', text: init[1] ?? '', plain };
  return { source: 'plain', thread: '', level: '', text: bare, plain };
}

const SERVER_THREAD =
  /^(?:|Server thread|main|ServerMain|modloading-(?:worker|sync-worker)-?\d{0,4}|(?:Server-Worker|Worker-Main|Worker-Bootstrap)-\d{1,4}|RCON Listener #\d{1,4})$/;

/** Whether a thread of the game wrote the line. Chat may also come from these threads: see {@link spoken}. */
export function fromServerThread(line: GameLine): boolean {
  return line.source === 'game' && SERVER_THREAD.test(line.thread);
}

/**
 * Whether a player may have written the line: `<name> …` and `[Not Secure] <name> …` (chat), `[name] …` (the say
 * command, which looks like a plugin's tag), `* name …` (the me command). On Paper, chat has a separate thread.
 */
export function spoken(line: GameLine): boolean {
  return line.source === 'game' && line.level === 'INFO' && /^[<[*]/.test(line.text);
}
