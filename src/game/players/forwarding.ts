import { isOn } from '../properties/format.ts';

/** Returns a file's text; '' if it is missing. */
type ReadText = (path: string) => Promise<string>;

/**
 * Reports whether the game's files (Spigot, Paper and its forks) make it accept players from another Minecraft proxy
 * that checks their accounts. Such a game runs with `online-mode=false`, but its players have the UUIDs of their
 * accounts. As in Paper, the proxy checks accounts unless the files say otherwise.
 */
export async function areAccountsForwarded(readText: ReadText): Promise<boolean> {
  const [paper, oldPaper, spigot] = [
    settingsIn(await readText('config/paper-global.yml')),
    settingsIn(await readText('paper.yml')),
    settingsIn(await readText('spigot.yml')),
  ];
  const isUnlessOff = (value: string | undefined) => value === undefined || isOn(value);
  const ofVelocity = [
    [paper, 'proxies.velocity'],
    [oldPaper, 'settings.velocity-support'],
  ] as const;
  if (ofVelocity.some(([file, at]) => isOn(file.get(`${at}.enabled`)) && isUnlessOff(file.get(`${at}.online-mode`))))
    return true;
  const bungee = paper.get('proxies.bungee-cord.online-mode') ?? oldPaper.get('settings.bungee-online-mode');
  return isOn(spigot.get('settings.bungeecord')) && isUnlessOff(bungee);
}

/** Returns the scalars of block mappings in YAML, by path. Other forms of YAML, which games do not write, are skipped. */
function settingsIn(yaml: string): Map<string, string> {
  const settings = new Map<string, string>();
  let above: { indent: number; name: string }[] = [];
  for (const line of yaml.split(/\r\n|\r|\n/)) {
    const [, blanks = '', name = '', value = ''] = /^( *)([\w-]{1,64}):(?:[ \t]+(.*))?$/.exec(line) ?? [];
    if (name === '') continue;
    above = above.filter(({ indent }) => indent < blanks.length);
    const scalar = value.replace(/(?:^|\s)#.*$/, '').trim();
    if (scalar !== '')
      settings.set([...above.map((each) => each.name), name].join('.'), scalar.replace(/^(['"])(.*)\1$/, '$2'));
    else above.push({ indent: blanks.length, name });
  }
  return settings;
}
