import * as z from 'zod';
import { isNone, jsonIfThere, removeIfThere } from '../jail/if-there.ts';
import { type Jail, openJail } from '../jail/jail.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';
import { type BuildPin, coreOf } from './cores.ts';
import { type InstallerReading, saidByInstaller } from './installer-files.ts';
import type { OwnerSettings } from './settings.ts';

/** The part of a row that decides whether a build fits. */
type BuildOf = Pick<OwnerSettings, 'type' | 'version' | 'modpackPlatform'>;

/** Stored with the files that it describes, hidden from owners, and included in backups. */
const NOTE = '.dormouse-build.json';
/** Limited because it is read at each start, and a game may have written it. */
const MAX_NOTE_BYTES = 4 * KIB;
/** Limit of names read from a folder. */
const MOST_NAMES = 10_000;

const word = z.string().max(64);
const Note = z.object({ type: word, version: word, build: word });

/**
 * Returns the recorded build of this server; undefined without a record for this core and version. A game may change
 * the record, so invalid builds are ignored.
 */
export async function notedBuild(root: string, row: BuildOf): Promise<string | undefined> {
  const pin = buildPin(row);
  if (pin === undefined) return undefined;
  return await inJail(root, undefined, async (jail) => {
    const note = await jsonIfThere(jail, NOTE, Note, MAX_NOTE_BYTES);
    if (note === undefined || note.type !== row.type || note.version !== row.version) return undefined;
    return pin.pattern.test(note.build) ? note.build : undefined;
  });
}

/**
 * Records the build of a server's core for later starts: the one that the engine has chosen, or that the image's
 * installer has installed. An unknown build is not recorded.
 */
export async function noteBuild(
  root: string,
  row: BuildOf,
  {
    owner,
    build: chosen,
    ...reading
  }: InstallerReading & { owner?: FileOwner | undefined; build?: string | undefined },
): Promise<void> {
  const pin = buildPin(row);
  if (pin === undefined) return;
  await inJail(root, owner, async (jail) => {
    const known = chosen !== undefined && pin.pattern.test(chosen) ? chosen : undefined;
    const build = known ?? (await manifestBuild(jail, pin, row, reading)) ?? (await namedBuild(jail, pin, row));
    if (build === undefined) return;
    await using file = await jail.replace(NOTE);
    await file.write(Buffer.from(JSON.stringify({ type: row.type, version: row.version, build })));
    await file.commit();
  });
}

/** Deletes the record, so that the next start uses and records the newest build. */
export async function forgetBuild(root: string, owner?: FileOwner): Promise<void> {
  await inJail(root, owner, (jail) => removeIfThere(jail, NOTE));
}

/** Returns the build of the installer's last work if it was for this core and version. */
async function manifestBuild(
  jail: Jail,
  pin: BuildPin,
  row: BuildOf,
  reading: InstallerReading,
): Promise<string | undefined> {
  if (pin.manifest === undefined) return undefined;
  const said = await saidByInstaller(jail, pin.manifest, 'build', reading);
  if (said === undefined || (said.project ?? row.type) !== row.type) return undefined;
  if ((said.minecraftVersion ?? said.origin?.game) !== row.version) return undefined;
  const build = said.build ?? said.loaderVersion ?? said.forgeVersion ?? said.origin?.loader ?? '';
  return pin.pattern.test(build) ? build : undefined;
}

/**
 * Returns the build in the name of a file or folder. If there are several numbers, the greatest is the newest. Several
 * loader versions are ambiguous, so it returns undefined.
 */
async function namedBuild(jail: Jail, pin: BuildPin, row: BuildOf): Promise<string | undefined> {
  const { folder, before, after } = pin.named(row.version);
  const found = new Set<string>();
  let looked = 0;
  try {
    for await (const entries of jail.entries(folder)) {
      looked += entries.length;
      if (looked > MOST_NAMES) return undefined;
      for (const { name, kind } of entries) {
        if (kind !== (folder === '' ? 'file' : 'directory') || !name.startsWith(before)) continue;
        const end = after === '' ? name.length : name.indexOf(after, before.length);
        const build = name.slice(before.length, Math.max(end, before.length));
        if (pin.pattern.test(build)) found.add(build);
      }
    }
  } catch (error) {
    if (isNone(error)) return undefined;
    throw error;
  }
  const builds = [...found];
  if (builds.every((build) => /^\d+$/.test(build))) builds.sort((a, b) => Number(b) - Number(a));
  else if (builds.length > 1) return undefined;
  return builds[0];
}

/** Returns undefined if there is no folder yet, or the system cannot open one safely. */
async function inJail<T>(
  root: string,
  owner: FileOwner | undefined,
  work: (jail: Jail) => Promise<T>,
): Promise<T | undefined> {
  let jail: Jail;
  try {
    jail = await openJail(root, { owner, secrets: 'open' });
  } catch (error) {
    if (isNone(error) || (error instanceof StatusError && error.reason === 'NOT_SUPPORTED')) return undefined;
    throw error;
  }
  await using opened = jail;
  return await work(opened);
}

/** Returns the game image's variable for a pinned build; empty if this server cannot have the build. */
export function buildEnv(row: BuildOf, build: string | undefined): Record<string, string> {
  const pin = buildPin(row);
  return pin !== undefined && build !== undefined && pin.pattern.test(build) ? { [pin.variable]: build } : {};
}

/** Returns how the build of this server is pinned; undefined if its version or its pack alone determines it. */
function buildPin({ type, modpackPlatform }: BuildOf): BuildPin | undefined {
  return modpackPlatform === '' ? coreOf(type)?.pin : undefined;
}

/** Returns whether the game image installs one jar for this server, of a build that is known. */
export function isOneJar(row: BuildOf, build: string | undefined): boolean {
  const { pin, isOneJar: isOne = false } = coreOf(row.type) ?? {};
  return isOne && row.modpackPlatform === '' && (pin === undefined || (build !== undefined && pin.pattern.test(build)));
}
