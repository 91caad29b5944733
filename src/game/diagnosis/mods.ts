/**
 * Messages of mod loaders (Fabric, Quilt, Forge, NeoForge) about mods that clash, are installed twice, or belong on the
 * client.
 */
import { type Finding, type Place, type Rule, nearby } from './rule.ts';

function incompatible(subject: string, detail: string, suggestion: string): Finding {
  return { code: 'incompatible_mods', subject, title: 'Incompatible mods', detail, suggestion };
}

/** Returns the finding of a client-only mod; its id is empty if the log has none. */
export function clientOnly(mod: string): Finding {
  return {
    code: 'client_only_mod',
    subject: mod,
    title: 'Mod for players only',
    detail: `${mod || 'A mod'} works only in the player's game, not on a server.`,
    suggestion: `Remove ${mod || 'that mod'} from the server; players can keep it.`,
  };
}

/** The mod being loaded when a class could not be loaded. */
const BUSY_WITH =
  /(?:Failed to create mod instance\. ModID: |provided by '|Mod loading issue for: |has failed to load correctly.{0,4}\()([\w.-]{1,64})/;

/** Matches traces only. In a prefixed line, the same words are from a mixin without a target, which is harmless. */
function classOfTheClient(place: Place): Finding | undefined {
  return place.line.source === 'plain' ? clientOnly(nearby(place, BUSY_WITH) ?? '') : undefined;
}

export const MOD_RULES: readonly Rule[] = [
  {
    needle: ' is incompatible with ',
    pattern:
      /^\s{0,8}- Mod '([^']{1,100})' \(([\w.-]{1,64})\) \S{1,80} is incompatible with .{1,120}? of (?:mod )?(?:'([^']{1,80})' \([\w.-]{1,64}\)|([\w.-]{1,64})),/,
    find: ([, mod = '', modId = '', named = '', bare = '']) =>
      incompatible(
        modId,
        `${mod} and ${named || bare} cannot run together.`,
        `Remove or update ${mod} or ${named || bare}.`,
      ),
  },
  {
    needle: 'from mod files: ',
    pattern: /Mod ID: '([\w.-]{1,64})' from mod files: (.{1,300})$/,
    find: ([, id = '', files = '']) =>
      incompatible(
        id,
        `${id} is installed more than once: ${files}.`,
        `Keep one of these files and remove the others.`,
      ),
  },
  {
    needle: 'uplicate ',
    pattern: /(?:Duplicate versions for mod ID|Found a duplicate mod) '?([\w.-]{1,64})'?/,
    find: ([, id = '']) => incompatible(id, `${id} is installed more than once.`, `Keep one version of ${id}.`),
  },
  {
    needle: ' package ',
    pattern: /Modules? (\S{1,80}) (?:and (\S{1,80}) exports? package|reads package (\S{1,120}) from both)/,
    find: ([, one = '', other = '', name = '']) =>
      incompatible(
        one,
        other ? `${one} and ${other} contain the same classes.` : `${one} finds the package ${name} in two mods.`,
        `Remove one of the two, or find compatible builds.`,
      ),
  },
  {
    needle: ' from mod ',
    pattern:
      /(?:InjectionError|InvalidInjectionException|Mixin apply (?:for mod \S{1,64} )?failed).{0,400} from mod ([\w.-]{1,64})/,
    find: ([, mod = ''], { context }) =>
      incompatible(
        mod,
        `${mod} is not compatible with this version of Minecraft or with another mod: it could not change the game.`,
        `Update ${mod} to a build for Minecraft ${context.version}, or remove it.`,
      ),
  },
  {
    needle: 'net/minecraft/client/',
    pattern: /Attempted to load class net\/minecraft\/client\/\S{1,200} for invalid dist DEDICATED_SERVER/,
    find: (_, place) => classOfTheClient(place),
  },
  {
    needle: 'in environment type SERVER',
    pattern: /Cannot load class \S{1,200} in environment type SERVER/,
    find: (_, place) => classOfTheClient(place),
  },
  {
    needle: 'clientside only mod',
    pattern: /load a clientside only mod/,
    find: (_, place) => classOfTheClient(place),
  },
  {
    needle: 'Could not execute entrypoint stage',
    pattern: /Could not execute entrypoint stage '\w{1,40}' due to errors, provided by '([\w.-]{1,64})'/,
    find: ([, mod = ''], { context }) => ({
      ...incompatible(
        mod,
        `${mod} failed while starting.`,
        `Update ${mod} to a build for Minecraft ${context.version}, or remove it.`,
      ),
      weight: 'vague',
    }),
  },
  {
    needle: [
      'ncompatible mod',
      'uplicate',
      'pre-loading phase',
      'broken mod state',
      'Mixin ',
      'ModResolutionException',
      'unsupported mandatory dependencies',
    ],
    pattern:
      /^(?:Incompatible mods? (?:found|set)!|Found duplicate mods:)|Duplicate(?:ModsFoundException|\smods found)|Error during pre-loading phase|to a broken mod state|Mixin (?:apply|transformation of \S{1,120}) failed|ModResolutionException|Missing or unsupported mandatory dependencies/,
    find: () => ({
      ...incompatible(
        '',
        'The mods are not compatible with each other or with this version of Minecraft.',
        'Update the mods, or remove the latest ones, and start again.',
      ),
      weight: 'vague',
    }),
  },
];
