import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, STOP_FIRST, YES, call, command, confirmed, flag, on, option } from '../command.ts';
import { failed, wrongUsage } from '../errors.ts';
import { capacityColumns, columns, listing, software as nameOf } from '../format.ts';
import { given } from '../parse.ts';
import { CAPACITY, type Messages, SERVER, VERSIONS, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';
import { maintained, readServer } from '../waiting.ts';
import { askForEula } from './you.ts';

/** The option to use a version that is not listed. */
export const UNLISTED = flag('Accept a version that the service does not list.');

/** `dormouse versions`. */
export const versions: Command = command({
  usage: 'versions [core]',
  summary: 'List Minecraft versions, newest first. With a core, only those it supports.',
  async run({ api, json, document, terminal: { out } }, [type]) {
    const reply = await done(api.GET('/v1/minecraft/versions'));
    if (json && type === undefined) return document(reply);
    const { versions, latest, cores } = read(VERSIONS, reply, oneLine);
    const core = cores.find((each) => each.type === type);
    if (type !== undefined && core === undefined) {
      const known = cores.map((each) => each.type);
      const suggestion = suggest(type, known) || `Available: ${known.join(', ')}.`;
      throw wrongUsage(`There is no core ${JSON.stringify(type)} here. ${suggestion}`);
    }
    if (json && core !== undefined) return document(core);
    const names = core?.versions ?? versions;
    // Programs get one per line, as from `ls`.
    for (const line of out.isTerminal ? columns(names, out.columns) : names) out.line(line);
    if (out.isTerminal) out.line(`\nLatest: ${out.style('bold', core?.versions[0] ?? latest)}`);
  },
});

const REGION = {
  region: '',
  label: '',
  available: false as boolean,
  capacity: CAPACITY,
} satisfies Partial<Omit<Messages['RegionInfo'], 'capacity'>> & { capacity: typeof CAPACITY };

/** `dormouse regions`. */
export const regions = call({
  usage: 'regions',
  summary: 'List the regions and their free capacity.',
  call: ({ api }) => api.GET('/v1/regions'),
  shape: { regions: [REGION] },
  show: ({ regions }, { out }) =>
    listing(out, regions, 'No regions.', {
      REGION: ({ region }) => region,
      NAME: ({ label }) => label,
      STATE: ({ available }) => (available ? 'available' : 'not available'),
      ...capacityColumns(({ available, capacity }: typeof REGION) => (available ? capacity : undefined)),
    }),
});

/** `dormouse software`. */
export const software = call({
  usage: 'software <id>',
  summary: "Change a server's core or Minecraft version. Applies at the next start.",
  options: {
    type: option('core', 'vanilla, paper, fabric, … (default: no change).'),
    version: option('version', 'A Minecraft version, or latest.'),
    unlisted: UNLISTED,
    stop: STOP_FIRST,
    yes: YES,
  },
  details: `A newer version upgrades the world permanently. An older one may not be able to read it.
The server is backed up first. If the next start fails, go back with: ${DORMOUSE} back castle
Choosing the current version installs the newest build of the core.

Example: ${DORMOUSE} software castle --version latest`,
  warning: ([id], { type, version }) =>
    `${id} and its world permanently change to ${nameOf({ type: type ?? '', version: version ?? 'another version' })}.`,
  async call({ api, slow }, [id = ''], { type, version, unlisted, stop = false }) {
    if (type === undefined && version === undefined) throw wrongUsage('Set --type, --version or both.');
    const { server } = await readServer(api, id);
    const body = await softwareOf(api, type ?? server.type, version ?? server.version, unlisted);
    return slow.POST('/v1/servers/{id}:updateVersion', { ...on(id), body: { ...body, stopFirst: stop } });
  },
  shape: SERVER,
  show: ({ id, update: { from, to, modsWithoutVersion } }) => [
    `${id} will run ${withBuild(to)} from its next start, in place of ${withBuild(from)}.`,
    ...(modsWithoutVersion.length > 0 ? [`No version for ${nameOf(to)}: ${modsWithoutVersion.join(', ')}`] : []),
    `If that start fails, go back with: ${DORMOUSE} back ${id}`,
  ],
  after: askForEula,
});

function withBuild({ build, ...software }: { type: string; version: string; build: string }): string {
  return build === '' ? nameOf(software) : `${nameOf(software)} build ${build}`;
}

/** `dormouse back`. */
export const back = command({
  usage: 'back <id>',
  summary: "Return a server's software, files and mods to their state before the last update.",
  options: { yes: YES },
  details: `Possible until a run of the new software has ended normally. Can be undone, like any restore.`,
  async run(context, [id = ''], { yes }) {
    const { from, to, backupId, automatic } = (await readServer(context.api, id)).server.update;
    // Without a backup, a build cannot be restored, only a version.
    const isSame = from.type === to.type && from.version === to.version;
    if (automatic || (backupId === '' && isSame))
      throw failed('NO_UPDATE', `${id} has no update to go back from.`, { server: id });
    const what = backupId === '' ? '' : ' This replaces all files with the backup from before the update.';
    if (!yes) await confirmed(context, `${id} returns to ${withBuild(from)}.${what}`);
    const { type, version } = from;
    if (backupId === '')
      await done(context.api.POST('/v1/servers/{id}:updateVersion', { ...on(id), body: { type, version } }));
    else
      await maintained(context, id, 'is going back', (api) =>
        api.POST('/v1/servers/{id}/backups/{backupId}:restore', { params: { path: { id, backupId } }, body: {} }),
      );
    if (context.json) return context.document((await readServer(context.api, id)).reply);
    context.terminal.out.line(`${id} runs ${withBuild(from)} again from its next start.`);
  },
});

/**
 * Returns a core and version from the service's list. `latest`, or no version, means the core's newest one. Throws
 * wrong usage with suggestions for an unlisted version. An unknown core is left to the service to refuse.
 */
export async function softwareOf(api: Api, type: string, version = 'latest', unlisted = false) {
  const reply = read(VERSIONS, await done(api.GET('/v1/minecraft/versions')), oneLine);
  const core = reply.cores.find((each) => each.type === type);
  const newest = core?.versions[0];
  if (version === 'latest') return { type, ...given({ version: newest }) };
  if (core === undefined || unlisted || core.versions.includes(version)) return { type, version };
  const suggestion = suggest(version, core.versions);
  const see = `List versions with: ${DORMOUSE} versions ${type}. To use it anyway, add --unlisted.`;
  throw wrongUsage([`${type} ${version} is not listed.`, suggestion, see].filter((part) => part !== '').join(' '));
}
