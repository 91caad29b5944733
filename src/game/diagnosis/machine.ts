/** Failures outside the game's code: Java, memory, disk, port, and the game's watchdog. */
import { failedPlugin } from './plugins.ts';
import { CLASS_FILE_OFFSET, type DiagnosisContext, type Finding, type Rule, headline } from './rule.ts';

function wrongJava(needed: string, detail: string): Finding {
  return {
    code: 'wrong_java_version',
    subject: needed,
    title: 'Wrong Java version',
    detail,
    suggestion: `Run the server with ${needed}, or use builds made for the Java it has.`,
  };
}

/** Returns the memory to suggest: 1.5 times the present, in whole GB, at least 2 GB. */
function moreRam(ramMb: number): string {
  return `${Math.max(2, Math.ceil((ramMb * 1.5) / 1024))} GB`;
}

/** Returns the finding of too little memory; `detail` names the symptom. */
export function outOfMemory(detail: string, { ramMb }: DiagnosisContext): Finding {
  return {
    code: 'out_of_memory',
    subject: `${ramMb} MB`,
    title: 'Out of memory',
    detail,
    suggestion: `Give the server at least ${moreRam(ramMb)}, or remove mods and plugins, or lower the view distance.`,
  };
}

const WATCHDOG_SUGGESTION =
  'Check the log for the mod or plugin that was active at that moment. Remove or update it, or lower the view and ' +
  'simulation distance.';

export const MACHINE_RULES: readonly Rule[] = [
  {
    needle: 'UnsupportedClassVersionError',
    pattern: /UnsupportedClassVersionError: ([\w/.$-]{1,200})(?![\w/.$-])(.{0,300})/,
    find: ([, className = '', rest = ''], place) => {
      const file = /(?:class file version|major\.minor version) (\d{2,3})/.exec(rest)?.[1];
      if (file === undefined) return undefined;
      const needed = `Java ${Number(file) - CLASS_FILE_OFFSET}`;
      const limit = /up to (\d{2,3})/.exec(rest)?.[1];
      const present = limit === undefined ? 'an older one' : `Java ${Number(limit) - CLASS_FILE_OFFSET}`;
      const plugin = failedPlugin(place);
      const game = className.startsWith('net/minecraft/') ? `Minecraft ${place.context.version}` : undefined;
      const what = plugin ?? game ?? className.replaceAll('/', '.');
      const finding = wrongJava(needed, `${what} needs ${needed}; this server runs ${present}.`);
      return plugin === undefined ? finding : { ...finding, weight: 'warning' };
    },
  },
  {
    needle: 'Java',
    pattern: /(?:requires running the server with|requires at least|^Only up to) Java (\d{1,2})\b/,
    find: ([, java = ''], { context }) =>
      wrongJava(`Java ${java}`, `Minecraft ${context.version} needs at least Java ${java}.`),
  },
  {
    needle: 'Unsupported Java detected',
    pattern: /Unsupported Java detected \((\d{2,3})\.\d\)\. Only up to Java (\d{1,2})/,
    find: ([, file = '', java = '']) =>
      wrongJava(
        `Java ${java}`,
        `This server cannot run on Java ${Number(file) - CLASS_FILE_OFFSET}, only up to Java ${java}.`,
      ),
  },
  {
    needle: 'URLClassLoader',
    pattern: /ClassLoaders\$AppClassLoader cannot be cast to .{0,20}java\.net\.URLClassLoader/,
    find: () => wrongJava('Java 8', 'This old version of Forge runs on Java 8 only.'),
  },
  {
    needle: 'ClassMetadataNotFoundException: java.util.List',
    pattern: /ClassMetadataNotFoundException: java\.util\.List/,
    find: () => wrongJava('Java 17', 'A mod cannot read the classes of a newer Java than 17.'),
  },
  {
    needle: 'unable to create ',
    pattern: /OutOfMemoryError: unable to create (?:new )?native thread/,
    find: () => ({
      code: 'out_of_memory',
      subject: 'threads',
      title: 'Too many threads',
      detail: 'The game requested more threads than a server can have.',
      suggestion: 'Remove the mod or plugin that starts so many threads.',
    }),
  },
  {
    needle: 'java.lang.OutOfMemoryError',
    pattern: /java\.lang\.OutOfMemoryError(?:: ([\w .]{1,60}))?/,
    find: ([, kind = ''], { context }) =>
      kind.startsWith('unable to create')
        ? undefined
        : outOfMemory(
            `The game used all memory that Java can use${kind ? ` (${kind.trim()})` : ''} ` +
              `of the server's ${context.ramMb} MB.`,
            context,
          ),
  },
  {
    // Messages of Node, and of Java if it is set to crash on it. Both end with code 134.
    needle: ['JavaScript heap out of memory', 'OutOfMemory encountered'],
    pattern: /^FATAL ERROR: .{0,200}JavaScript heap out of memory|OutOfMemory encountered: /,
    find: (_, { context }) =>
      outOfMemory(`The game used all memory that it can use of the server's ${context.ramMb} MB.`, context),
  },
  {
    needle: ['insufficient memory', 'Could not reserve enough space', 'Native memory allocation (mmap)', ' Killed '],
    pattern:
      /^(?:# )?There is insufficient memory for the Java Runtime Environment|Could not reserve enough space for .{0,40}object heap|Native memory allocation \(mmap\) failed|^\S{1,80}: line \d{1,5}: +\d{1,9} Killed +java/,
    find: (_, { context }) =>
      outOfMemory(`There is not enough memory to run Java in the server's ${context.ramMb} MB.`, context),
  },
  {
    needle: 'Cannot assign requested address',
    pattern: /Cannot assign requested address/,
    find: () => ({
      code: 'bad_config',
      subject: 'server-ip',
      title: 'Wrong server-ip',
      detail: 'server-ip in server.properties is an address that this server does not have.',
      suggestion: 'Leave server-ip empty in server.properties.',
    }),
  },
  {
    needle: ['Address already in use', 'port is already allocated'],
    pattern: /(?:BindException|bind\(\.\.\) failed): Address already in use|port is already allocated/,
    find: (_, place) => ({
      code: 'port_in_use',
      subject: '',
      title: 'Port in use',
      detail: 'Another program already uses a port that this server needs.',
      suggestion: 'Start again in a minute. If that does not help, remove the extra port or the plugin that uses it.',
      // A plugin's web page or a query port does not end the game; the game's own port does.
      weight:
        headline(place)?.text.includes('FAILED TO BIND') || place.line.text.includes('allocated') ? 'cause' : 'warning',
    }),
  },
  {
    needle: '**** FAILED TO BIND TO PORT!',
    pattern: /^\*\*\*\* FAILED TO BIND TO PORT!/,
    find: () => ({
      code: 'port_in_use',
      subject: '',
      title: 'Port in use',
      detail: 'The game could not open its port for players.',
      suggestion: 'Start again in a minute. Do not change server-port and server-ip in server.properties.',
    }),
  },
  {
    needle: ['No space left on device', 'Disk quota exceeded'],
    pattern: /No space left on device|Disk quota exceeded/,
    find: () => ({
      code: 'disk_full',
      subject: '',
      title: 'Disk full',
      detail: 'The server could not write because its space is used up.',
      suggestion: 'Delete files, worlds or backups it does not need, then start again.',
    }),
  },
  {
    needle: 'single server tick took ',
    pattern: /single server tick took (\d{1,6})[.,]\d{1,3} seconds/,
    find: ([, seconds = '']) => ({
      code: 'watchdog',
      subject: `${seconds} s`,
      title: 'The game hung',
      detail: `One tick took ${seconds} seconds, so the game's watchdog ended it.`,
      suggestion: WATCHDOG_SUGGESTION,
    }),
  },
  {
    needle: ['Considering it', 'Watching Server', 'has stopped responding', 'WatchDog', 'ServerHangWatchdog'],
    pattern:
      /^Considering it to be crashed|^Description: Watching Server|^The server has stopped responding!|^Main thread terminated by WatchDog|ServerHangWatchdog detected/,
    find: () => ({
      code: 'watchdog',
      subject: '',
      title: 'The game hung',
      detail: "It did not answer for a long time, so the game's watchdog ended it.",
      suggestion: WATCHDOG_SUGGESTION,
    }),
  },
];
