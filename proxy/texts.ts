/** Default messages for players. */
export const TEXTS = {
  unknown: 'Unknown server address. Ask the owner for the full address.',
  gone: 'This server is no longer at this address.',
  badName: 'Your player name cannot wake this server.\nUse only letters, digits and underscores.',
  busy: 'Too many players are waiting for this server.\nPlease try again in a moment.',
  tooFast: 'Too many joins from your network.\nPlease try again in half a minute.',
  comeBack: 'The server is waking up for you. Please join again in half a minute.',
  tooLong: 'The server is still not up. Please try again in a few minutes.',
  unreachable: 'The server could not be reached just now. Please try again in a moment.',
  failed: 'The server could not be woken just now. Please try again in a few minutes.',
  away: 'This host is not responding right now.\nPlease try again in a few minutes.',
  closing: 'Dormouse is restarting. Please join again in a moment.',
  left: 'You are no longer waiting for this server. Join again whenever you like.',
  unverified:
    'Only verified Minecraft accounts can wake this server.\nYours could not be verified. Try again in a minute.',
  verified: 'Your account is verified.\nJoin again in the next few minutes to wake the server.',
  outdated: 'Your game is too old for this server. Please use a newer version.',
  anywhere: 'Enter the full address of a server.',
  defaultMotd: 'A Minecraft server',
  asleep: '§7Asleep: §fjoin to wake',
  stopping: '§7Saving and going to sleep',
  needsOwner: '§cThis server needs its owner',
  unavailable: '§7Not available right now',
  silent: '§cNot responding right now',
} as const;

/** Texts of the start-up phases, by the service's names for them. */
export const PHASES: ReadonlyMap<string, string> = new Map([
  ['downloading', 'Downloading'],
  ['installing', 'Installing'],
  ['starting', 'Starting'],
  ['loading_mods', 'Loading mods'],
  ['generating_world', 'Preparing the world'],
  ['ready', 'Almost ready'],
]);

/** Message for players whose client version does not match the server's. */
export function versionText(versionName: string): string {
  return `This server runs Minecraft ${versionName}, not your version.\nChoose ${versionName} in your launcher, then join again.\n(Installations → New installation)`;
}
