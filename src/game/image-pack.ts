import { z } from 'zod';
import { type Jail, openJail } from '../jail/jail.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { CORES, CUSTOM, SANDBOX } from './container.ts';
import { MINECRAFT_VERSION } from './minecraft-version.ts';
import type { PackSoftware, PackRef } from './settings.ts';

/** The longest of the files is FTB's list of a pack's files. */
const MAX_BYTES = 16 * MIB;

const word = z.string().max(128).catch('');
/** What the image's installer keeps of a CurseForge pack. */
const CurseForge = z.object({
  slug: word,
  fileId: z.int().min(1).catch(0),
  minecraftVersion: word,
  modLoaderId: word,
});
/** What FTB's installer keeps of a pack. */
const Ftb = z.object({
  targets: z
    .array(z.object({ name: word, version: word }))
    .max(100)
    .catch([]),
});

/**
 * The software that the game image has installed for a server with a pack, from the files that its installer leaves in
 * the server's folder: the way to know a pack that no registry here knows. Only valid values are taken, as a pack or a
 * game may write there too.
 */
export async function packOfImage(
  root: string,
  platform: string,
  { modpackRef }: Pick<PackRef, 'modpackRef'>,
): Promise<Partial<PackSoftware>> {
  await using jail = await openJail(root, { secrets: 'open' });
  const said = platform === 'ftb' ? await ftb(jail, modpackRef) : await byHelper(jail, platform, modpackRef);
  const { version = '', modpackVersion = '' } = said;
  const type = said.type?.toLowerCase() ?? '';
  return {
    ...(MINECRAFT_VERSION.test(version) && { version }),
    ...(CORES.includes(type) && type !== SANDBOX && type !== CUSTOM && { type }),
    ...(/^[1-9]\d{0,11}$/.test(modpackVersion) && { modpackVersion }),
  };
}

/** The results file is for a shell and names the pack's version as people call it; its id is in the manifest. */
async function byHelper(jail: Jail, platform: string, ref: string): Promise<Partial<PackSoftware>> {
  const results = variables(await textIn(jail, `.install-${platform}.env`));
  const made = { version: results.get('VERSION'), type: results.get('TYPE') };
  if (platform !== 'curseforge') return made;
  const manifest = await jsonIn(jail, '.curseforge-manifest.json', CurseForge);
  if (manifest?.slug !== ref) return made;
  const { minecraftVersion, modLoaderId, fileId } = manifest;
  const [loader = ''] = modLoaderId.split('-');
  return { version: made.version ?? minecraftVersion, type: made.type ?? loader, modpackVersion: String(fileId) };
}

async function ftb(jail: Jail, ref: string): Promise<Partial<PackSoftware>> {
  const [id, modpackVersion = ''] = (await textIn(jail, '.ftb-installed')).trim().split('=');
  if (id !== ref) return {};
  const { targets = [] } = (await jsonIn(jail, 'version.json', Ftb)) ?? {};
  const loader = targets.find(({ name }) => ['neoforge', 'forge', 'fabric', 'quilt'].includes(name));
  const game = targets.find(({ name }) => name === 'minecraft');
  return { version: game?.version, type: loader?.name, modpackVersion };
}

/** `NAME="value"` a line. */
function variables(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)].map(([, name = '', value = '']) => [name, value]));
}

/** What a file holds; undefined where there is no such plain file, one far too large, or another thing in it. */
export async function jsonIn<Schema extends z.ZodType>(
  jail: Jail,
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.parse(JSON.parse(await textIn(jail, path)));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

/** '' where there is no such plain file, or one far too large. */
async function textIn(jail: Jail, path: string): Promise<string> {
  try {
    await using file = await jail.open(path);
    const { sizeBytes } = await file.stat();
    return sizeBytes > MAX_BYTES ? '' : (await file.read(0, sizeBytes)).toString('utf8');
  } catch (error) {
    if (error instanceof StatusError && (error.code === 'NOT_FOUND' || error.code === 'FAILED_PRECONDITION')) return '';
    throw error;
  }
}
