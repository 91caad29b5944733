import { JoinRefused } from '../../proxy/ports.ts';
import { type RefusalWords, StatusError } from '../kernel/status.ts';

/** Returns the kick of a player who cannot wake a server. */
export function refusalOf(error: unknown): JoinRefused {
  return new JoinRefused(wordsOf(error).player, { cause: error });
}

/** Returns the server-list line of a sleeping server that cannot be woken because of a rule. */
export function refusalLine(error: StatusError): string {
  return wordsOf(error).list ?? NOT_AVAILABLE;
}

/** Texts for a server whose machine is not responding and may still run it. */
export function lostWords(name: string): { player: string; list: string } {
  return {
    player:
      `The machine that runs ${name} is not responding.\n` +
      'It continues when the machine is back. Try again in a few minutes.',
    list: '§cIts machine is not responding',
  };
}

/** The kick message for a player whose start found no room. */
export function roomWords(name: string): string {
  return `There is no room for ${name} right now.\nIt starts automatically when there is. Try again in a few minutes.`;
}

/** The words for a start that has to wait for room. */
export const NO_ROOM: RefusalWords = {
  player: 'This host is full right now. Try again in a few minutes.',
  list: '§7Asleep: §fthis host is full',
  owner: { title: 'No capacity right now', others: 'players who join wait in a queue' },
};

const NOT_AVAILABLE = '§7Not available right now';
const UNKNOWN: RefusalWords = { player: "This server can't start right now. Try again in a minute." };

function wordsOf(error: unknown): RefusalWords {
  return (error instanceof StatusError ? error.options.words : undefined) ?? UNKNOWN;
}
