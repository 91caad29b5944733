import { PLAYER_NAME } from './players/profiles.ts';

/** Other sources of the players on a server, beside the game's answer to `list`. */
export interface OtherNames {
  /** The names with which players came through the proxy. */
  joined: readonly string[];
  /** The names that the game remembers of earlier visits. */
  remembered: readonly string[];
  /** The players in the game's status if it names all of them, else undefined. */
  sample(): Promise<readonly string[] | undefined>;
}

/**
 * The names of the players online. Cores and plugins reword the answer to `list`: groups, ranks, AFK marks, nicknames, places.
 * An answer in plain names counts if these are known. Otherwise the proxy's names count if they are as many as the answer says,
 * then the status. Only without both is a decorated answer taken apart; an item that leaves no single name is dropped.
 */
export async function onlinePlayers(answer: string, others: OtherNames): Promise<string[]> {
  const { joined, remembered } = others;
  const count = listedCount(answer);
  const listed = itemsIn(answer);
  const through = distinct(joined);
  if (count !== null && through.length === count) return inOrder(through, listed);
  const known = new Map([...remembered, ...joined].map((name) => [name.toLowerCase(), name]));
  const isPlain = listed.every((item) => PLAYER_NAME.test(item) && known.has(item.toLowerCase()));
  if (isPlain && (count === null || listed.length === count)) return distinct(listed);
  const sample = await others.sample();
  if (sample !== undefined && (count === null || sample.length === count)) return [...sample];
  return distinct(listed.flatMap((item) => nameIn(item, known) ?? []));
}

/** How many players the game's answer to `list` counts; null if it names no number. */
export function listedCount(answer: string): number | null {
  const count = /(?<!\w)\d{1,9}(?!\w)/.exec(withoutCodes(answer))?.[0];
  return count === undefined ? null : Number(count);
}

/**
 * The players in the JSON of a status, if it names as many as it counts and each is an account with a name. A game names some of
 * many, hides those who ask for it, and plugins put advertisements there.
 */
export function sampledPlayers(status: string): string[] | undefined {
  const { players } = JSON.parse(status) as { players?: { online?: unknown; sample?: unknown } };
  const sample: unknown[] = Array.isArray(players?.sample) ? players.sample : [];
  const names = sample.flatMap((entry) => {
    const { name, id } = (entry ?? {}) as { name?: unknown; id?: unknown };
    const isPlayer =
      typeof name === 'string' && PLAYER_NAME.test(name) && typeof id === 'string' && /[1-9a-f]/i.test(id);
    return isPlayer ? [name] : [];
  });
  return names.length === sample.length && distinct(names).length === players?.online ? names : undefined;
}

function withoutCodes(answer: string): string {
  return answer.replaceAll(/§./gs, '');
}

/** The items between the commas, after the colon of the first line or of a group's title. */
function itemsIn(answer: string): string[] {
  const [head = '', ...lines] = withoutCodes(answer).split('\n');
  const isList = head.includes(':') || listedCount(answer) !== null;
  if (!isList) return [];
  return [/:(?:\s|$)/.test(head) ? head : '', ...lines]
    .map((line) => line.replace(/^.*?:(?:\s|$)/, ''))
    .flatMap((line) => commaSeparated(line))
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Splits at commas outside brackets: a place has some of its own. */
function commaSeparated(line: string): string[] {
  return line.replaceAll(/[([{<][^()[\]{}<>]*[)\]}>]/g, (part) => part.replaceAll(',', ';')).split(',');
}

/** The player in an item: a known one, or the only name left without brackets and marks. */
function nameIn(item: string, known: ReadonlyMap<string, string>): string | undefined {
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

/** The names as the answer has them in order, if it names them all. */
function inOrder(names: readonly string[], listed: readonly string[]): string[] {
  const byName = new Map(names.map((name) => [name.toLowerCase(), name]));
  const same = listed.length === names.length && listed.every((item) => byName.has(item.toLowerCase()));
  return same ? [...listed] : [...names];
}
