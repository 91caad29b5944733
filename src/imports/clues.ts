/** Reads the facts of a server from untrusted files of its former host. Invalid files have no facts. */
import { gunzipSync } from 'node:zlib';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { coreOf, SANDBOX } from '../game/cores.ts';
import { PROPERTY_HELP } from '../game/properties/help.ts';
import { decodeText } from '../kernel/decode-text.ts';
import { GIB, INT32_MAX, KIB, MIB } from '../kernel/units.ts';
import { readPackIndex } from '../mods/pack-index.ts';

/** The content of small files by their path in the archive. */
export type Clues = ReadonlyMap<string, Uint8Array>;

/** Image types of itzg/docker-minecraft-server with another name here. */
const TYPES: Readonly<Record<string, string>> = {
  magma_maintained: 'magma',
  auto_curseforge: '',
  modrinth: '',
  ftba: '',
};
/** Variables of the image that are named differently from their property. */
const VARIABLES: ReadonlyMap<string, string> = new Map([
  ...Object.keys(PROPERTY_HELP).map((key) => [key.replaceAll('-', '_').toUpperCase(), key] as const),
  ['MOTD', 'motd'],
  ['MODE', 'gamemode'],
  ['LEVEL', 'level-name'],
  ['SEED', 'level-seed'],
]);
const UNITS: Readonly<Record<string, number>> = { '': 1, k: KIB, m: MIB, g: GIB, t: KIB * GIB };

const scalar = z.union([z.string().max(4_096), z.number(), z.boolean(), z.null()]);
const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string().max(512).catch(''),
      environment: z.union([z.record(z.string(), scalar), z.array(z.string().max(4_096))]).catch({}),
    }),
  ),
});
const MmcPack = z.object({
  components: z.array(z.object({ uid: z.string().max(128), version: z.string().max(64).catch('') })).max(100),
});
const LOADERS: readonly [string, string][] = [
  ['net.neoforged', 'neoforge'],
  ['net.minecraftforge', 'forge'],
  ['org.quiltmc.quilt-loader', 'quilt'],
  ['net.fabricmc.fabric-loader', 'fabric'],
];

/** Returns the settings of the first service that runs itzg's image, in a compose file nearest to the top. */
export function composeFacts(clues: Clues) {
  const facts = { type: '', version: '', ramMb: 0, properties: {} as Record<string, string> };
  const variables = composeVariables(clues);
  if (variables === undefined) return facts;
  const wanted = (variables.get('TYPE') ?? 'VANILLA').toLowerCase();
  const type = TYPES[wanted] ?? wanted;
  for (const [name, key] of VARIABLES) {
    const value = variables.get(name);
    if (value !== undefined && !value.includes('${')) facts.properties[key] = value;
  }
  return {
    ...facts,
    type: coreOf(type) && type !== SANDBOX ? type : '',
    version: variables.get('VERSION') ?? '',
    ramMb: memoryMb(variables.get('MAX_MEMORY') ?? variables.get('MEMORY') ?? ''),
  };
}

function composeVariables(clues: Clues): Map<string, string> | undefined {
  const files = [...clues].filter(([path]) => /(?:^|\/)(?:docker-)?compose[^/]*\.ya?ml$/.test(path));
  for (const [, bytes] of files.sort(([one], [other]) => one.length - other.length)) {
    const services = composeOf(decodeText(bytes))?.services ?? {};
    for (const { image, environment } of Object.values(services)) {
      if (!/(?:^|\/)itzg\/minecraft-server(?::|@|$)/.test(image)) continue;
      const pairs = Array.isArray(environment)
        ? environment.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)] as const)
        : Object.entries(environment).map(([name, value]) => [name, String(value ?? '')] as const);
      return new Map(pairs);
    }
  }
  return undefined;
}

function composeOf(text: string): z.output<typeof Compose> | undefined {
  try {
    // Aliases could multiply a small file.
    return Compose.safeParse(parseDocument(text, { logLevel: 'silent' }).toJS({ maxAliasCount: 20 })).data;
  } catch {
    return undefined;
  }
}

/** Returns the software named by a Modrinth pack, or by an instance of MultiMC or Prism. */
export function packFacts(clues: Clues): { type: string; version: string; build: string } {
  for (const [path, bytes] of clues) {
    const facts = path.endsWith('modrinth.index.json') ? mrpackFacts(bytes) : undefined;
    const found = facts ?? (path.endsWith('mmc-pack.json') ? instanceFacts(bytes) : undefined);
    if (found !== undefined) return found;
  }
  return { type: '', version: '', build: '' };
}

function mrpackFacts(bytes: Uint8Array): { type: string; version: string; build: string } | undefined {
  try {
    const { type, minecraftVersion: version, loaderVersion: build } = readPackIndex(decodeText(bytes));
    return { type, version, build };
  } catch {
    return undefined;
  }
}

function instanceFacts(bytes: Uint8Array): { type: string; version: string; build: string } | undefined {
  try {
    const { components } = MmcPack.parse(JSON.parse(decodeText(bytes)));
    const versionOf = (uid: string) => components.find((each) => each.uid === uid)?.version;
    const [uid, type] = LOADERS.find(([each]) => versionOf(each) !== undefined) ?? ['', 'vanilla'];
    return { type, version: versionOf('net.minecraft') ?? '', build: versionOf(uid) ?? '' };
  } catch {
    return undefined;
  }
}

/** Returns the Minecraft version that last wrote the active world (tags Version and Name of `level.dat`), or ''. */
export function levelFacts(
  clues: Clues,
  root: string,
  worlds: readonly { active: boolean; folders: string[] }[],
): string {
  const folder = (worlds.find(({ active }) => active) ?? worlds[0])?.folders[0];
  const bytes = clues.get(root + (folder ? `${folder}/` : '') + 'level.dat');
  if (bytes === undefined) return '';
  try {
    const nbt = gunzipSync(bytes, { maxOutputLength: 16 * MIB });
    // A compound (10) named Version, with a string (8) named Name.
    const compound = nbt.indexOf(Buffer.from('\x0a\0\x07Version', 'latin1'));
    const name = compound < 0 ? -1 : nbt.indexOf(Buffer.from('\x08\0\x04Name', 'latin1'), compound);
    if (name < 0) return '';
    const length = Math.min(64, nbt.readUInt16BE(name + 7));
    return nbt.toString('utf8', name + 9, name + 9 + length);
  } catch {
    return '';
  }
}

/** Returns the largest heap that a script asks Java for, in MB; 0 if it asks for none. */
export function memoryOfScript(text: string): number {
  return Math.max(0, ...[...text.matchAll(/-Xmx(\d{1,9}[kmgt]?)\b/gi)].map(([, size = '']) => memoryMb(size)));
}

function memoryMb(size: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([kmgt]?)b?$/i.exec(size.trim()) ?? [];
  if (count === undefined) return 0;
  return Math.min(INT32_MAX, Math.floor((Number(count) * (UNITS[unit.toLowerCase()] ?? 1)) / MIB));
}
