/**
 * Messages of mod loaders (Fabric, Quilt, Forge, NeoForge) about a mod that needs another mod, loader, Java or
 * Minecraft version.
 */
import { clientOnly } from './mods.ts';
import type { DiagnosisContext, Finding, Rule } from './rule.ts';

/** A mod's unmet requirement. */
interface Requirement {
  /** The name in the log, which may be the id. */
  mod: string;
  modId?: string;
  /** The required mod's id; also `minecraft`, `java` or a loader. */
  id: string;
  name: string;
  /** In words: `any version`, `0.8.12 or newer`. */
  wanted: string;
  /** The installed version; empty if missing. */
  present: string;
}

/** Ids of the loaders themselves, which are not mods. */
const LOADERS = new Map([
  ['fabricloader', 'Fabric Loader'],
  ['quilt_loader', 'Quilt Loader'],
  ['forge', 'Forge'],
  ['neoforge', 'NeoForge'],
]);
/** Fabric API has two ids, and its logs often contain no name. */
const NAMES = new Map([
  ['fabric', 'Fabric API'],
  ['fabric-api', 'Fabric API'],
]);

/** Converts Maven's version ranges to words: `[1.2,)` to `1.2 or newer`. */
function inWords(range: string): string {
  const [, from, to] = /^\[([^,\])]{1,60})(?:, ?([^,\])]{0,60})[\])])?/.exec(range) ?? [];
  if (!from || from === '*') return 'any version';
  if (to === undefined) return `version ${from}`;
  return to === '' || to === '?' ? `${from} or newer` : `${from} up to ${to}`;
}

function unmet({ mod, modId, id, name, wanted, present }: Requirement, context: DiagnosisContext): Finding {
  if (id === 'minecraft')
    return {
      code: 'wrong_minecraft_version',
      subject: modId ?? mod,
      title: 'Wrong Minecraft version',
      detail: `${mod} needs Minecraft ${wanted}; this server runs ${present || context.version}.`,
      suggestion: `Install a build of ${mod} made for Minecraft ${present || context.version}, remove it, or change the server's version.`,
    };
  if (id === 'java')
    return {
      code: 'wrong_java_version',
      subject: `Java ${/\d{1,3}/.exec(wanted)?.[0] ?? ''}`.trim(),
      title: 'Wrong Java version',
      detail: `${mod} needs Java ${wanted.replace(/^version /, '')}${present ? `; this server runs Java ${present}` : ''}.`,
      suggestion: `Use a build of ${mod} for the Java of Minecraft ${context.version}, or change the server's version.`,
    };
  const loader = LOADERS.get(id);
  if (loader !== undefined)
    return {
      code: 'missing_dependency',
      subject: id,
      title: 'Mod loader too old',
      detail: `${mod} needs ${loader} ${wanted}${present ? `; this server has ${present}` : ''}.`,
      suggestion: `Update ${loader}, or install an older build of ${mod}.`,
    };
  const known = NAMES.get(id) ?? (name || id);
  if (present)
    return {
      code: 'missing_dependency',
      subject: id,
      title: 'Wrong mod version',
      detail: `${mod} needs ${known} (${wanted}), but ${present} is installed.`,
      suggestion: `Replace ${known} with a compatible version, or install another build of ${mod}.`,
    };
  return {
    code: 'missing_dependency',
    subject: id,
    title: 'Missing mod',
    detail: `${mod} needs ${known} (${wanted}), which is not installed.`,
    suggestion: `Add ${known} for Minecraft ${context.version} to the server's mods, then start again.`,
  };
}

/** Converts Fabric's version phrases to ours. */
function fabricWords(wanted: string): string {
  const between = /^any version between (\S{1,60}) \(inclusive\) and (\S{1,60}?)-? \((?:in|ex)clusive\)$/.exec(wanted);
  if (between) return `${between[1]} up to ${between[2]}`;
  return wanted.replace(/^version (.{1,80}) or later$/, '$1 or newer').replace(/^any (\S{1,40}) version$/, '$1');
}

/** `any version of mod 'Fabric API' (fabric-api), which is missing`: version, name and id (or bare id), problem. */
const WANTS = /^(.{1,120}?) of (?:mod )?(?:'([^']{1,80})' \(([\w.-]{1,64})\)|([\w.-]{1,64})), (.{1,160})$/;

function fabricRequirement(mod: string, modId: string, text: string, context: DiagnosisContext): Finding | undefined {
  const [, wanted = '', name = '', named = '', bare = '', wrong = ''] = WANTS.exec(text) ?? [];
  const id = named || bare;
  if (!id) return undefined;
  if (wrong.startsWith('which is disabled for this environment')) return clientOnly(modId);
  const present = /present: (.{1,80})$/.exec(wrong)?.[1] ?? '';
  if (!present && !wrong.startsWith('which is missing')) return undefined;
  return unmet({ mod, modId, id, name, wanted: fabricWords(wanted), present }, context);
}

export const DEPENDENCY_RULES: readonly Rule[] = [
  {
    needle: ' requires ',
    pattern: /^\s{0,8}- Mod '([^']{1,100})' \(([\w.-]{1,64})\) \S{1,80} requires (.{1,300})!$/,
    find: ([, mod = '', modId = '', text = ''], { context }) => fabricRequirement(mod, modId, text, context),
  },
  {
    // Quilt: `Memory Leak Fix requires version [0.14.21, ?) of fabricloader, which is missing!`
    needle: ', which is missing!',
    pattern: /^([^-\s].{0,100}?) requires (any version|version (.{1,60})) of ([\w.-]{1,64}), which is missing!$/,
    find: ([, mod = '', any = '', range = '', id = ''], { line, context }) =>
      line.source === 'plain'
        ? unmet({ mod, id, name: '', wanted: range ? inWords(range) : any, present: '' }, context)
        : undefined,
  },
  {
    needle: 'java @ [',
    pattern:
      /^(?:Immediate reason|Reason): \[.{0,200}HARD_DEP\w{0,40} (\S{1,64}) \S{1,64} \{depends java @ \[>=(\d{1,3})/,
    find: ([, mod = '', java = ''], { context }) =>
      unmet({ mod, id: 'java', name: '', wanted: `${java} or newer`, present: '' }, context),
  },
  {
    // Fabric Loader before 0.12.
    needle: 'Could not find required mod: ',
    pattern: /Could not find required mod: ([\w.-]{1,64}) requires \{([\w.-]{1,64}) @ \[(.{0,60}?)\]\}/,
    find: ([, mod = '', id = '', range = ''], { context }) =>
      unmet({ mod, id, name: '', wanted: range === '*' ? 'any version' : range, present: '' }, context),
  },
  {
    needle: 'Requested by: ',
    pattern:
      /Mod ID: '([\w.-]{1,64})', Requested by: '([\w.-]{1,64})', Expected range: '([^']{0,80})', Actual version: '([^']{0,80})'/,
    find: ([, id = '', mod = '', range = '', actual = ''], { context }) =>
      unmet({ mod, id, name: '', wanted: inWords(range), present: actual === '[MISSING]' ? '' : actual }, context),
  },
  {
    // NeoForge; the next line has the present version.
    needle: ' requires ',
    pattern: /\bMod (\S{1,64}) requires ([\w.-]{1,64}) (\S{1,60}) or above/,
    find: ([, mod = '', id = '', from = ''], { lines, index, context }) => {
      const state =
        /Currently, \S{1,64} is (\S{1,60})/.exec(`${lines[index]?.text} ${lines[index + 1]?.text}`)?.[1] ?? 'not';
      return unmet({ mod, id, name: '', wanted: `${from} or newer`, present: state === 'not' ? '' : state }, context);
    },
  },
  {
    // Forge up to 1.12.
    needle: 'MissingModsException: ',
    pattern: /MissingModsException: Mod \S{1,64} \(([^)]{1,80})\) requires \[(.{1,300})\]$/,
    find: ([, mod = '', list = ''], { context }) =>
      list
        .split(/, (?=[\w.-]{1,64}(?:@|$))/)
        .slice(0, 10)
        .map((wanted) => {
          const [id = '', range = ''] = wanted.split('@', 2);
          return unmet({ mod, id, name: '', wanted: inWords(range), present: '' }, context);
        }),
  },
  {
    // Forge up to 1.7.
    needle: ' requires mods [',
    pattern: /mod (\S{1,64}) .{0,100}requires mods \[([\w.-]{1,64})(?:@(\S{1,60}))?\] to be available/,
    find: ([, mod = '', id = '', range = ''], { context }) =>
      unmet({ mod, id, name: '', wanted: inWords(range), present: '' }, context),
  },
];
