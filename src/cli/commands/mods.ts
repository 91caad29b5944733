import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Subject } from '../command.ts';
import { askForEula } from './eula.ts';
import { wrongUsage } from '../errors.ts';
import { type Messages, SERVER } from '../shapes.ts';
import { listing } from '../table.ts';
import type { Output } from '../terminal.ts';
import { cut } from '../text.ts';
import { readServer } from '../waiting.ts';

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

const SOURCES = ['modrinth', 'curseforge'] as const;
const SOURCE = { type: 'string', value: 'registry', help: 'modrinth (default) or curseforge.' } as const;
const DRY_RUN = { type: 'boolean', help: 'Show the changes without making them.' } as const;

function sourceOf(text = 'modrinth'): (typeof SOURCES)[number] {
  const source = SOURCES.find((each) => each === text);
  if (source === undefined) throw wrongUsage('--source must be modrinth or curseforge.');
  return source;
}

const KINDS = ['mod', 'plugin', 'modpack'] as const;

function kindOf(text = ''): '' | (typeof KINDS)[number] {
  const kind = KINDS.find((each) => each === text);
  if (kind === undefined && text !== '') throw wrongUsage('--kind must be mod, plugin or modpack.');
  return kind ?? '';
}

function changed({ changes }: typeof CHANGES, out: Output, none: string): string[] {
  const rows = changes.map(({ name, projectId, from, to }) => [name || projectId, from || '—', '→', to || 'removed']);
  return listing(out, ['MOD', 'FROM', '', 'TO'], rows, none);
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
      name: 'mods list',
      summary: 'List the mods added here, with their dependencies.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/mods', on(id)),
      shape: { mods: [MOD] },
      show({ mods }, { context: { terminal }, args: [id] }) {
        const rows = mods.map(({ name, projectId, source, version, versionSpec, dependency }) => [
          name || projectId,
          version,
          versionSpec === '' ? 'newest' : versionSpec,
          source,
          dependency ? 'dependency' : '',
        ]);
        const none = `No mods yet. Find one with: ${DORMOUSE} mods search <words> --server ${id}`;
        return listing(terminal.out, ['MOD', 'VERSION', 'WANTED', 'SOURCE', ''], rows, none);
      },
    }),
    call({
      name: 'mods search',
      summary: 'Search a registry, best match first.',
      args: ['[words...]'],
      options: {
        server: { type: 'string', value: 'id', help: 'Only mods that run on this server.' },
        kind: { type: 'string', value: 'kind', help: 'mod, plugin or modpack.' },
        source: SOURCE,
      },
      async call({ api }, words, { server, kind, source }) {
        const of = server === undefined ? undefined : (await readServer(api, server)).server;
        const fits = of === undefined || kind === 'modpack' ? {} : { loader: of.type, version: of.version };
        const query = { query: words.join(' '), kind: kindOf(kind), source: sourceOf(source), ...fits };
        return api.GET('/v1/mods/search', { params: { query } });
      },
      shape: { projects: [PROJECT] },
      show({ projects }, { context: { terminal } }) {
        const { out } = terminal;
        const rows = projects.map(({ slug, kind, downloads, description }) => [
          slug,
          kind,
          Number(downloads).toLocaleString('en-US'),
          description,
        ]);
        const lines = listing(out, ['NAME', 'KIND', 'DOWNLOADS', ''], rows, 'No results.');
        return out.isTerminal ? lines.map((line) => cut(line, out.columns)) : lines;
      },
    }),
    call({
      name: 'mods add',
      summary: 'Add a mod with its dependencies, or change its --version.',
      args: ['id', 'mod'],
      options: {
        version: {
          type: 'string',
          value: 'version',
          help: 'A version of the mod, or release, beta, alpha (default: the newest).',
        },
        source: SOURCE,
        'dry-run': DRY_RUN,
      },
      call: ({ slow }, [id, projectId = ''], { version = '', source, 'dry-run': dryRun = false }) => {
        const body = { projectId, source: sourceOf(source), versionSpec: version, dryRun };
        return slow.POST('/v1/servers/{id}/mods', { ...on(id), body });
      },
      shape: CHANGES,
      show: (reply, { context: { terminal }, args: [id, mod], values }) =>
        values['dry-run']
          ? changed(reply, terminal.out, 'No changes: the mod is already installed.')
          : [`Added ${mod} to ${id}. Show its dependencies with: ${DORMOUSE} mods ${id}`],
    }),
    call({
      name: 'mods update',
      summary: 'Update all mods, or the named ones, to the newest version.',
      args: ['id', '[mods...]'],
      options: { 'dry-run': DRY_RUN },
      call: ({ slow }, [id, ...projectIds], { 'dry-run': dryRun = false }) =>
        slow.POST('/v1/servers/{id}/mods:update', { ...on(id), body: { projectIds, dryRun } }),
      shape: CHANGES,
      show: (reply, { context: { terminal } }) => changed(reply, terminal.out, 'No updates available.'),
    }),
    call({
      name: 'mods remove',
      summary: 'Remove a mod, and dependencies that no other mod needs.',
      args: ['id', 'mod'],
      options: { source: SOURCE },
      call: ({ slow }, [id, projectId = ''], { source }) =>
        slow.POST('/v1/servers/{id}/mods:remove', { ...on(id), body: { projectId, source: sourceOf(source) } }),
      shape: {},
      show: (_, { args: [id, mod] }) => [`Removed ${mod} from ${id}.`],
    }),
    call({
      name: 'mods pack',
      summary: 'Back up the server, then install a mod pack with its loader and Minecraft version.',
      args: ['id', 'pack'],
      options: {
        platform: { type: 'string', value: 'registry', help: 'modrinth (default), curseforge, …' },
        version: { type: 'string', value: 'version', help: 'A version of the pack (default: the newest).' },
      },
      warning: ([id, pack]) => `This backs up ${id} if it has a world, then installs the pack ${pack}.`,
      call: ({ slow }, [id, ref = ''], { platform = 'modrinth', version = '' }) =>
        slow.POST('/v1/servers/{id}:setModpack', { ...on(id), body: { platform, ref, version } }),
      shape: SERVER,
      show: ({ id, state }) => [`${id} is ${state}. Watch it with: ${DORMOUSE} machine ${id}`],
      after: askForEula,
    }),
  ],
};
