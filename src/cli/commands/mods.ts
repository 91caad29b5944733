import { DORMOUSE } from '../called.ts';
import { type Subject, call, flag, on, option } from '../command.ts';
import { listing } from '../format.ts';
import { oneOf } from '../parse.ts';
import { type Messages, SERVER } from '../shapes.ts';
import type { Output } from '../terminal.ts';
import { cut } from '../text.ts';
import { readServer } from '../waiting.ts';
import { askForEula } from './you.ts';

const MOD = {
  name: '',
  projectId: '',
  source: '',
  versionSpec: '',
  version: '',
  dependency: false as boolean,
} satisfies Partial<Messages['ServerMod']>;
const CHANGES = { changes: [{ name: '', projectId: '', from: '', to: '' }] } satisfies {
  changes: Partial<Messages['ModChange']>[];
};
const PROJECT = {
  slug: '',
  source: '',
  kind: '',
  name: '',
  author: '',
  downloads: '0',
  description: '',
} satisfies Partial<Messages['ModProject']>;

const SOURCE = option('registry', 'modrinth (default) or curseforge.');
const DRY_RUN = flag('Show the changes without making them.');

function sourceOf(text = 'modrinth') {
  return oneOf(['modrinth', 'curseforge'], text, '--source must be modrinth or curseforge.');
}

function kindOf(text = '') {
  return oneOf(['', 'mod', 'plugin', 'modpack'], text, '--kind must be mod, plugin or modpack.');
}

function changed({ changes }: typeof CHANGES, out: Output, none: string): string[] {
  return listing(out, changes, none, {
    MOD: ({ name, projectId }) => name || projectId,
    FROM: ({ from }) => from || '—',
    '': () => '→',
    TO: ({ to }) => to || 'removed',
  });
}

/** `dormouse mods`. */
export const mods: Subject = {
  name: 'mods',
  summary: 'Mods and plugins from Modrinth and CurseForge, and mod packs.',
  details: `Name a mod by its slug at the registry (lithium) or by its id. Changes apply at the server's next start.

Example: ${DORMOUSE} mods search lithium --server castle
         ${DORMOUSE} mods add castle lithium
         ${DORMOUSE} mods update castle --dry-run`,
  commands: [
    call({
      usage: 'mods list <id>',
      summary: 'List the mods added here, with their dependencies.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/mods', on(id)),
      shape: { mods: [MOD] },
      show({ mods }, { out, args: [id] }) {
        const none = `No mods yet. Find one with: ${DORMOUSE} mods search <words> --server ${id}`;
        return listing(out, mods, none, {
          MOD: ({ name, projectId }) => name || projectId,
          VERSION: ({ version }) => version,
          WANTED: ({ versionSpec }) => (versionSpec === '' ? 'newest' : versionSpec),
          SOURCE: ({ source }) => source,
          '': ({ dependency }) => (dependency ? 'dependency' : ''),
        });
      },
    }),
    call({
      usage: 'mods search [words...]',
      summary: 'Search a registry, best match first.',
      options: {
        server: option('id', 'Only mods that run on this server.'),
        kind: option('kind', 'mod, plugin or modpack.'),
        source: SOURCE,
      },
      async call({ api }, words, { server, kind, source }) {
        const of = server === undefined ? undefined : (await readServer(api, server)).server;
        const fits = of === undefined || kind === 'modpack' ? {} : { loader: of.type, version: of.version };
        const query = { query: words.join(' '), kind: kindOf(kind), source: sourceOf(source), ...fits };
        return api.GET('/v1/mods/search', { params: { query } });
      },
      shape: { projects: [PROJECT] },
      show({ projects }, { out }) {
        const lines = listing(out, projects, 'No results.', {
          NAME: ({ slug }) => slug,
          KIND: ({ kind }) => kind,
          DOWNLOADS: ({ downloads }) => Number(downloads).toLocaleString('en-US'),
          '': ({ description }) => description,
        });
        return out.isTerminal ? lines.map((line) => cut(line, out.columns)) : lines;
      },
    }),
    call({
      usage: 'mods add <id> <mod>',
      summary: 'Add a mod with its dependencies, or change its --version.',
      options: {
        version: option('version', 'A version of the mod, or release, beta, alpha (default: the newest).'),
        source: SOURCE,
        'dry-run': DRY_RUN,
      },
      call: ({ slow }, [id, projectId = ''], { version = '', source, 'dry-run': dryRun = false }) => {
        const body = { projectId, source: sourceOf(source), versionSpec: version, dryRun };
        return slow.POST('/v1/servers/{id}/mods', { ...on(id), body });
      },
      shape: CHANGES,
      show: (reply, { out, args: [id, mod], values }) =>
        values['dry-run']
          ? changed(reply, out, 'No changes: the mod is already installed.')
          : [`Added ${mod} to ${id}. Show its dependencies with: ${DORMOUSE} mods ${id}`],
    }),
    call({
      usage: 'mods update <id> [mods...]',
      summary: 'Update all mods, or the named ones, to the newest version.',
      options: { 'dry-run': DRY_RUN },
      call: ({ slow }, [id, ...projectIds], { 'dry-run': dryRun = false }) =>
        slow.POST('/v1/servers/{id}/mods:update', { ...on(id), body: { projectIds, dryRun } }),
      shape: CHANGES,
      show: (reply, { out }) => changed(reply, out, 'No updates available.'),
    }),
    call({
      usage: 'mods remove <id> <mod>',
      summary: 'Remove a mod, and dependencies that no other mod needs.',
      options: { source: SOURCE },
      call: ({ slow }, [id, projectId = ''], { source }) =>
        slow.POST('/v1/servers/{id}/mods:remove', { ...on(id), body: { projectId, source: sourceOf(source) } }),
      show: (_, { args: [id, mod] }) => [`Removed ${mod} from ${id}.`],
    }),
    call({
      usage: 'mods pack <id> <pack>',
      summary: 'Back up the server, then install a mod pack with its loader and Minecraft version.',
      options: {
        platform: option('registry', 'modrinth (default), curseforge, …'),
        version: option('version', 'A version of the pack (default: the newest).'),
        stop: flag('Stop an awake server for it. It stays asleep afterwards.'),
      },
      warning: ([id, pack]) => `This backs up ${id} if it has a world, then installs the pack ${pack}.`,
      call: ({ slow }, [id, ref = ''], { platform = 'modrinth', version = '', stop = false }) =>
        slow.POST('/v1/servers/{id}:setModpack', { ...on(id), body: { platform, ref, version, stopFirst: stop } }),
      shape: SERVER,
      show: ({ id, state }) => [`${id} is ${state}. Watch it with: ${DORMOUSE} machine ${id}`],
      after: askForEula,
    }),
  ],
};
