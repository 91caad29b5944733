/** Messages of the game about its EULA, its worlds and its settings. */
import { EULA_URL } from '../eula.ts';
import { type Finding, type Rule, nearby } from './rule.ts';

function badConfig(file: string, detail: string, suggestion: string): Finding {
  return { code: 'bad_config', subject: file, title: 'Broken settings', detail, suggestion };
}

const PATH = /[\w./-]{3,}/g;
const SETTINGS_ENDING = /\.(?:ya?ml|json5?|toml|properties|cfg|conf)\b/g;
const MAX_PATH = 200;

/** Returns the settings file named in a line, relative to the server's directory; empty without one. */
function namedFile(text: string): string {
  // Matches word by word: a search from each character of a word would take quadratic time.
  for (const [path] of text.matchAll(PATH)) {
    const ending = [...path.matchAll(SETTINGS_ENDING)].at(-1);
    if (!ending || ending.index === 0) continue;
    const end = ending.index + ending[0].length;
    return path.slice(Math.max(0, end - MAX_PATH), end).replace(/^(?:\/data\/|\.\/)/, '');
  }
  return '';
}

const CLASH =
  /^(?:Caused by: )?(?:[\w.$]{1,120}: )?(Refusing to overwrite existing migrated file .{1,300}? while moving .{1,300})/;
const CLASHING = /^Refusing to overwrite existing migrated file (.{1,300}?) while moving (.{1,300})$/;
const ACROSS_DISKS = /(AtomicMoveNotSupportedException)/;

/**
 * Since 26.1, a world contains the folders of all its dimensions. Paper moves the old ones there, and refuses if both
 * have files.
 */
function migrationRefused(world: string, clash: string | undefined, isAcrossDisks: boolean): Finding {
  const [, there = '', here = ''] = CLASHING.exec(clash ?? '') ?? [];
  const [from, to] = [dimensionFolder(here), dimensionFolder(there)];
  const about = { code: 'world_migration', subject: world, title: 'World not migrated' };
  if (from !== '' && to !== '') {
    const detail = `Minecraft moves the dimension in ${from} into ${to}, but both hold region files.`;
    const suggestion =
      `Keep one: move ${to} away to continue with ${from}, or move ${from} away if ${to} is newer. ` +
      'The backup from before the version change has both.';
    return { ...about, detail, suggestion };
  }
  const across = `The folder ${world} is a link or a mount: Minecraft cannot move its dimensions to another disk.`;
  const detail = isAcrossDisks ? across : `Minecraft could not move the dimensions of ${world} to their new folders.`;
  const suggestion = isAcrossDisks
    ? `Replace the link with the folder ${world} itself, or go back to the earlier version.`
    : `Check the folder ${world} and the lines below, or restore the backup from before the version change.`;
  return { ...about, detail, suggestion };
}

/** Returns the folder of a region file's dimension. */
function dimensionFolder(file: string): string {
  return file.replace(/^(?:\.\/|\/data\/)/, '').replace(/\/(?:region|entities|poi|data)\/[^/]*$/, '');
}

export const WORLD_RULES: readonly Rule[] = [
  {
    needle: 'EULA',
    pattern:
      /^(?:\[ERROR\] |ERROR: )?(?:Please accept the Minecraft EULA|You need to agree to the EULA in order to run the server)/,
    find: () => ({
      code: 'eula_not_accepted',
      subject: 'eula.txt',
      title: 'EULA not accepted',
      detail: "Minecraft runs only once its owner has agreed to Mojang's End User Licence Agreement.",
      suggestion: `Read the EULA (${EULA_URL}); if you agree, write eula=true to eula.txt, then start again.`,
    }),
  },
  {
    needle: 'session.lock',
    pattern: /(?<![\w.-])([\w.-]{1,80})\/session\.lock: ?(?:already locked|$)/,
    find: ([, world = '']) => ({
      code: 'world_locked',
      subject: world,
      title: 'World in use',
      detail: `Another process still has the world "${world}" open.`,
      suggestion: 'Start again in a minute. The earlier run may still be ending.',
    }),
  },
  {
    needle: ['hunk saved with newer version of', 'This world was '],
    pattern:
      /[Cc]hunk saved with newer version of [Mm]inecraft|^This world was (?:created by an incompatible version|saved with a newer version)/,
    find: (_, { context }) => ({
      code: 'world_newer_version',
      subject: context.version,
      title: 'World from a newer version',
      detail: `The world was saved by a newer Minecraft than ${context.version}, which cannot read it.`,
      suggestion: 'Go back to the newer version, or restore a backup from before the update.',
    }),
  },
  {
    needle: 'This world must be opened in an older version',
    pattern: /^This world must be opened in an older version/,
    find: (_, { context }) => ({
      code: 'wrong_minecraft_version',
      subject: 'world',
      title: 'World from a very old version',
      detail: `Minecraft ${context.version} cannot convert this world.`,
      suggestion: 'Open the world once with Minecraft 1.6.4, then come back to this version.',
    }),
  },
  {
    needle: ['World files may be corrupted', 'level.dat'],
    pattern: /World files may be corrupted|Exception reading \S{0,200}level\.dat|Failed to load \S{0,200}level\.dat\b/,
    find: () => ({
      code: 'world_corrupt',
      subject: 'level.dat',
      title: 'World damaged',
      detail: "The world's level.dat cannot be read.",
      suggestion: 'Restore the last good backup.',
    }),
  },
  {
    needle: 'Failed to migrate world storage for ',
    pattern: /Failed to migrate world storage for (.{1,120}?)(?:: |$)/,
    find: ([, world = ''], place) =>
      migrationRefused(world, nearby(place, CLASH), nearby(place, ACROSS_DISKS) !== undefined),
  },
  {
    needle: 'Refusing to overwrite existing migrated file ',
    pattern: CLASH,
    find: ([, clash = ''], place) => {
      if (nearby(place, /(Failed to migrate world storage for )/) !== undefined) return undefined;
      return migrationRefused(/ while moving (?:\.\/)?([^/]{1,120})/.exec(clash)?.[1] ?? '', clash, false);
    },
  },
  {
    needle: 'Chunk file at ',
    pattern: /Chunk file at (.{1,40}) is in the wrong location/,
    find: ([, chunk = '']) => ({
      code: 'world_corrupt',
      subject: chunk,
      title: 'Damaged chunks',
      detail: `The chunk at ${chunk} is in the wrong place in the world's files.`,
      suggestion: 'Check the world for missing parts. If you find any, restore a backup.',
      weight: 'warning',
    }),
  },
  {
    needle: 'MalformedInputException',
    pattern: /MalformedInputException/,
    find: (_, { line }) => {
      const file = namedFile(line.text);
      return badConfig(
        file,
        `${file || 'A settings file'} is not in UTF-8 and cannot be read.`,
        'Save the file as UTF-8, or delete it and let the game write a new one.',
      );
    },
  },
  {
    needle: ['org.yaml.snakeyaml.', 'Cannot load ', 'while parsing ', 'while scanning '],
    pattern:
      /^(?:Caused by: )?(?:org\.yaml\.snakeyaml\.\S{1,120}: |Cannot load \S{1,200}\.ya?ml)|while (?:parsing|scanning) (?:a|an|the) [\w ]{1,40}/,
    find: (_, { line, lines, index }) => {
      const file = namedFile(line.text) || namedFile(lines[index - 1]?.text ?? '');
      const finding = badConfig(
        file,
        `${file || 'A settings file'} is not valid YAML: often a tab, or a missing space or quote.`,
        'Correct the file at the place named in the log, or delete it so that a new one is written.',
      );
      return file.startsWith('plugins/') ? { ...finding, weight: 'warning' } : finding;
    },
  },
  {
    needle: 'Failed to load properties',
    pattern: /Failed to load properties(?: from file:? \S{1,200})?/,
    find: () =>
      badConfig(
        'server.properties',
        'server.properties cannot be read.',
        'Correct the file, or delete it and let the game write a new one.',
      ),
  },
  {
    needle: ['Unrecognized ', 'heap size', 'Could not create the Java Virtual Machine'],
    pattern:
      /^(?:Unrecognized (?:VM )?option|Invalid (?:maximum|initial) heap size|Error: Could not create the Java Virtual Machine)/,
    find: () =>
      badConfig(
        '',
        'Java was started with an unknown option.',
        'Remove the option from the server’s settings for Java. If none is set there, ask the operator.',
      ),
  },
  {
    needle: [' must be ', 'Invalid '],
    pattern:
      /^(?:\[ERROR\] |ERROR: )?(?:(DIFFICULTY|MODE|LEVEL_TYPE|TYPE) must be .{1,120}|Invalid (TYPE|game mode|difficulty)\b.{0,120})/,
    find: ([, must = '', invalid = ''], { line }) =>
      badConfig(
        must || invalid,
        `${line.text.replace(/^\W*ERROR\W* /, '')}.`,
        'Correct this setting, then start again.',
      ),
  },
  {
    needle: 'The sandbox core ',
    pattern: /^\[ERROR\] The sandbox core cannot be Minecraft (.{1,64}): it offers (.{1,80})\.$/,
    find: ([, version = '', offered = '']) => ({
      code: 'wrong_minecraft_version',
      subject: version,
      title: 'Unknown Minecraft version',
      detail: `The sandbox core does not run Minecraft ${version}, only ${offered}.`,
      suggestion: 'Choose one of these versions, or another core.',
    }),
  },
  {
    needle: 'The sandbox core takes no mod packs',
    pattern: /^\[ERROR\] The sandbox core takes no mod packs/,
    find: () =>
      badConfig('modpack', 'The sandbox core does not support mod packs.', 'Choose another core for a mod pack.'),
  },
  {
    needle: 'uthentication servers are down',
    pattern: /[Aa]uthentication servers are down/,
    find: () => ({
      code: 'auth_servers_down',
      subject: '',
      title: 'Sign-in servers down',
      detail: 'The servers that check Minecraft accounts do not answer, so players cannot join.',
      suggestion: 'Wait until they are back.',
      weight: 'warning',
    }),
  },
];
