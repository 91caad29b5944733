/** Default messages for players. */
export const TEXTS = {
  unknown: 'There is no server of this name here. Ask its owner for its whole address.',
  gone: 'This server is no longer here.',
  badName: 'This server is asleep, and your name has characters that cannot wake it: use letters and digits.',
  busy: 'Many players are waiting for this server already. Please try again in a moment.',
  tooFast: 'That was a lot of joining from your network. Please try again in half a minute.',
  comeBack: 'The server is waking up for you. Please join again in half a minute.',
  tooLong: 'The server is still not up. Please try again in a few minutes.',
  unreachable: 'The server could not be reached just now. Please try again in a moment.',
  failed: 'The server could not be woken just now. Please try again in a few minutes.',
  away: 'Dormouse is away for longer than usual. Please try again in a few minutes.',
  closing: 'Dormouse is restarting. Please join again in a moment.',
  left: 'You are no longer waiting for this server. Join again whenever you like.',
  unverified:
    'This server wakes for players with a Minecraft account only, and yours could not be verified. Please try again in a minute.',
  verified: 'You are verified. Please join again within the next minutes: that wakes the server.',
  outdated: 'Your game is too old for this server. Please use a newer version.',
  anywhere: 'Join by the name of a server.',
  defaultMotd: 'A Minecraft server',
  asleep: '§7Asleep: §fjoin to wake',
  stopping: '§7Saving and going to sleep',
  needsOwner: '§cThis server needs its owner',
  unavailable: '§7Not available right now',
  silent: '§cDoes not answer right now',
} as const;

/** Texts of the start-up phases, by the service's names for them. */
export const PHASES: ReadonlyMap<string, string> = new Map([
  ['starting', 'Starting'],
  ['loading_mods', 'Loading its mods'],
  ['generating_world', 'Preparing its world'],
  ['ready', 'Almost ready'],
]);

/** Message for players whose client version does not match the server's. */
export function versionText(versionName: string): string {
  return `This server plays Minecraft ${versionName}, and your game is another version. Choose ${versionName} in your launcher (Installations → New installation), then join again.`;
}
