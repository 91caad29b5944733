import { CORES, CUSTOM, MOD_LOADERS, SANDBOX } from './cores.ts';
import { textIfThere } from '../jail/if-there.ts';
import { type Jail, openJail } from '../jail/jail.ts';
import { KIB } from '../kernel/units.ts';
import { type InstallerReading, saidByInstaller } from './installer-files.ts';
import { MINECRAFT_VERSION } from './minecraft-version.ts';
import type { PackSoftware, PackRef } from './settings.ts';

/** Limit of the installer's results file, which has a few lines. */
const MAX_BYTES = 64 * KIB;

/**
 * Returns the software that the game image installed for a server with a pack, from its installer's files in the
 * server's folder. Also works for packs from unknown registries. Only valid values are used, because a pack or a game
 * may write there too.
 */
export async function packOfImage(
  root: string,
  platform: string,
  { modpackRef }: Pick<PackRef, 'modpackRef'>,
  reading: InstallerReading,
): Promise<Partial<PackSoftware>> {
  await using jail = await openJail(root, { secrets: 'open' });
  const said =
    platform === 'ftb' ? await ftb(jail, modpackRef, reading) : await byHelper(jail, platform, modpackRef, reading);
  const { version = '', modpackVersion = '' } = said;
  const type = said.type?.toLowerCase() ?? '';
  return {
    ...(MINECRAFT_VERSION.test(version) && { version }),
    ...(CORES.includes(type) && type !== SANDBOX && type !== CUSTOM && { type }),
    ...(/^[1-9]\d{0,11}$/.test(modpackVersion) && { modpackVersion }),
  };
}

/** The results file is for a shell and has the pack's version name; the manifest has its id. */
async function byHelper(
  jail: Jail,
  platform: string,
  ref: string,
  reading: InstallerReading,
): Promise<Partial<PackSoftware>> {
  const results = variables((await textIfThere(jail, `.install-${platform}.env`, MAX_BYTES)) ?? '');
  const made = { version: results.get('VERSION'), type: results.get('TYPE') };
  if (platform !== 'curseforge') return made;
  const manifest = await saidByInstaller(jail, '.curseforge-manifest.json', 'curseforge', reading);
  if (manifest?.slug !== ref) return made;
  const { minecraftVersion, modLoaderId, fileId } = manifest;
  const [loader = ''] = modLoaderId.split('-');
  return { version: made.version ?? minecraftVersion, type: made.type ?? loader, modpackVersion: String(fileId) };
}

async function ftb(jail: Jail, ref: string, reading: InstallerReading): Promise<Partial<PackSoftware>> {
  const [id, modpackVersion = ''] = ((await textIfThere(jail, '.ftb-installed', MAX_BYTES)) ?? '').trim().split('=');
  if (id !== ref) return {};
  const { targets = [] } = (await saidByInstaller(jail, 'version.json', 'ftb', reading)) ?? {};
  const loader = targets.find(({ name }) => MOD_LOADERS.includes(name));
  const game = targets.find(({ name }) => name === 'minecraft');
  return { version: game?.version, type: loader?.name, modpackVersion };
}

/** Parses lines of `NAME="value"`. */
function variables(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)].map(([, name = '', value = '']) => [name, value]));
}
