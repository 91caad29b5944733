import { TERMINAL_SEQUENCE } from './diagnosis/line.ts';
import { PLAYER_NAME } from './players/profiles.ts';

/**
 * The ids of Bedrock players (Floodgate: an account number of the console network). Their names may contain spaces and
 * any prefix.
 */
const BEDROCK_ID = /^0{8}-0{4}-0{4}-[0-9a-f]{4}-(?!0{12})[0-9a-f]{12}$/i;

/** Sources of player names besides the game's answer to `list`. */
export interface OtherNames {
  /** Names of players joined through the proxy. */
  joined: readonly string[];
  /** Names the game remembers from earlier visits. */
  remembered: readonly string[];
  /** The players in the game's status if it names all of them, else undefined. */
  sample(): Promise<readonly string[] | undefined>;
}

/**
 * Returns the names of the players online. Cores and plugins add groups, ranks, AFK marks, nicknames and places to the
 * answer to `list`. An answer of plain, known names is used as is. Otherwise the proxy's names are used if their number
 * matches the answer, then the status. Only without both is a decorated answer parsed; an item that leaves no single
 * name is dropped.
 */
export async function onlinePlayers(answer: string, others: OtherNames): Promise<string[]> {
  const { joined, remembered } = others;
  const count = listedCount(answer);
  const listed = itemsIn(answer);
  const through = distinct(joined);
  if (count !== null && through.length === count) return inOrder(through, listed);
  const known = new Map([...remembered, ...joined].map((name) => [name.toLowerCase(), name]));
  const isPlain = listed.every((item) => known.has(item.toLowerCase()));
  if (isPlain && (count === null || listed.length === count)) return distinct(listed);
  const sample = await others.sample();
  if (sample !== undefined && (count === null || sample.length === count)) return [...sample];
  return distinct(listed.flatMap((item) => nameIn(item, known) ?? []));
}

const MOST_IGNORED = 16;
const IGNORED = /^[.+~!]?[A-Za-z0-9_]{1,16}\*?$/;

/**
 * Returns the test for the players that a list ignores: at most 16 names separated by commas, in any case; `*` at the
 * end of a name stands for any rest. Returns undefined for an invalid list.
 */
export function ignoredIn(list: string): ((name: string) => boolean) | undefined {
  const entries = list.trim() === '' ? [] : list.toLowerCase().split(',', MOST_IGNORED + 1);
  const names = entries.map((entry) => entry.trim());
  if (names.length > MOST_IGNORED || !names.every((name) => IGNORED.test(name))) return undefined;
  return (player) => {
    const name = player.toLowerCase();
    return names.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
  };
}

/** Returns the number of players in the game's answer to `list`; null without one. */
export function listedCount(answer: string): number | null {
  // Not the number of a version such as 1.21.
  const count = /(?<![\w.])\d{1,9}(?!\w|\.\d)/.exec(withoutCodes(answer))?.[0];
  return count === undefined ? null : Number(count);
}

/**
 * Returns the players in a status JSON, if it names as many as it counts and each is an account with a name. Games list
 * only some of many players and hide those who opt out, and plugins put advertisements there.
 */
export function sampledPlayers(status: string): string[] | undefined {
  const { players } = JSON.parse(status) as { players?: { online?: unknown; sample?: unknown } };
  const sample: unknown[] = Array.isArray(players?.sample) ? players.sample : [];
  const names = sample.flatMap((entry) => {
    const { name, id } = (entry ?? {}) as { name?: unknown; id?: unknown };
    if (typeof name !== 'string' || typeof id !== 'string') return [];
    const isPlayer = PLAYER_NAME.test(name) ? /[1-9a-f]/i.test(id) : BEDROCK_ID.test(id);
    return isPlayer ? [name] : [];
  });
  return names.length === sample.length && distinct(names).length === players?.online ? names : undefined;
}

/** Removes colour codes: the game's, those of plugins that forgot to translate them, and those of terminals. */
function withoutCodes(answer: string): string {
  return answer.replaceAll(TERMINAL_SEQUENCE, '').replaceAll(/§.|&[0-9a-fk-or]/gis, '');
}

/** Returns the items between commas after the colon of the first line or of a group's title. */
function itemsIn(answer: string): string[] {
  const [head = '', ...lines] = withoutCodes(answer).split('\n');
  const isList = head.includes(':') || listedCount(answer) !== null;
  if (!isList) return [];
  return [namesInHead(head), ...lines.map(withoutTitle)]
    .flatMap((line) => commaSeparated(line))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Returns the part of the first line after its colon, unless that is the number of players, as in `Online: 2/20`. */
function namesInHead(head: string): string {
  if (!/:(?:\s|$)/.test(head)) return '';
  const names = withoutTitle(head);
  const title = head.slice(0, head.length - names.length);
  return !/\d/.test(title) && /^\s*\d+(?:\s*\/\s*\d+)?\s*$/.test(names) ? '' : names;
}

function withoutTitle(line: string): string {
  return line.replace(/^.*?:(?:\s|$)/, '');
}

/** Splits at commas outside brackets, because places contain some. */
function commaSeparated(line: string): string[] {
  return line.replaceAll(/[([{<][^()[\]{}<>]*[)\]}>]/g, (part) => part.replaceAll(',', ';')).split(',');
}

/** Returns the player in an item: a known one, or the only name left without brackets and marks. */
function nameIn(item: string, known: ReadonlyMap<string, string>): string | undefined {
  const whole = known.get(item.toLowerCase());
  if (whole !== undefined) return whole;
  const words = item.split(/[^\w.]+/).filter((word) => PLAYER_NAME.test(word));
  const one = words.map((word) => known.get(word.toLowerCase())).find((name) => name !== undefined);
  if (one !== undefined) return one;
  const bare = item.replaceAll(/[([{<][^()[\]{}<>]*[)\]}>]/g, ' ').trim();
  const plain = bare.replace(/^[^\w.]+|[^\w]+$/g, '');
  return PLAYER_NAME.test(plain) ? plain : undefined;
}

function distinct(names: readonly string[]): string[] {
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
}

/** Returns the names in the answer's order, if it contains all of them. */
function inOrder(names: readonly string[], listed: readonly string[]): string[] {
  const byName = new Map(names.map((name) => [name.toLowerCase(), name]));
  const same = listed.length === names.length && listed.every((item) => byName.has(item.toLowerCase()));
  return same ? [...listed] : [...names];
}
