import { PLAYER_NAME } from './players/profiles.ts';

/**
 * The names in a game's answer to `list`. Cores and plugins word it in their own ways: `There are 2 of a max of 20 players
 * online: a, b`, with the names on lines of their own, by group (`admins: a`), coloured, or with a title before each.
 */
export function onlinePlayers(answer: string): string[] {
  const [head = '', ...lines] = answer.replaceAll(/§./g, '').split('\n');
  const named = [head.includes(':') ? head : '', ...lines].flatMap((line) =>
    line.slice(line.lastIndexOf(':') + 1).split(','),
  );
  const names = named.map((text) => text.trim().split(/\s+/).at(-1) ?? '').filter((name) => PLAYER_NAME.test(name));
  return [...new Set(names)];
}
