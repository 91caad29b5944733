/** Failures before a game starts: its jar, its Java, and files it cannot read or write. */
import { failedPlugin } from './plugins.ts';
import { CLASS_FILE_OFFSET, type Finding, type Rule, baseName, nearby } from './rule.ts';

function brokenJar(path: string, detail: string): Finding {
  const jar = baseName(path) || 'The jar';
  return {
    code: 'broken_jar',
    subject: baseName(path),
    title: 'Not a server program',
    detail: `${jar} ${detail}`,
    suggestion: `Download ${jar} again from its official source, check its size, and upload it again.`,
  };
}

function badConfig(subject: string, detail: string, suggestion: string): Finding {
  return { code: 'bad_config', subject, title: 'Broken settings', detail, suggestion };
}

/** Returns a path relative to the server's directory. */
function fromRoot(path: string): string {
  return path.replace(/^(?:\/data\/|\.\/)/, '');
}

/** Files that the game needs to start; others belong to plugins. */
const OF_THE_GAME = /session\.lock$|^logs\/|^eula\.txt$|\.jar$|^libraries\/|^versions\//;

function denied(path: string): Finding {
  const file = fromRoot(path);
  return {
    code: 'permission_denied',
    subject: file,
    title: 'Not allowed to write',
    detail: `The game cannot open ${file}, because it belongs to another user.`,
    suggestion:
      'Delete the file or upload it again, or ask the operator to give the files to the user that games run as.',
    weight: OF_THE_GAME.test(file) ? 'cause' : 'warning',
  };
}

const LISTS: Record<string, string> = {
  'operators list': 'ops.json',
  'white-list': 'whitelist.json',
  whitelist: 'whitelist.json',
  'user banlist': 'banned-players.json',
  'ip banlist': 'banned-ips.json',
};

const JAR = /(?<![\w+.-])([\w+.-]{1,120}\.jar)\b/;
/** `# C  [libzstd-jni.so+0x1a2b]`, `# V  [libjvm.so+0x…]`: the place of a crash of Java. */
const FRAME = /^# [CVJj] {1,4}\[?([\w.+-]{1,80}?)(?:\+0x|\s|\])/;

export const LAUNCH_RULES: readonly Rule[] = [
  {
    needle: 'nvalid or corrupt jarfile ',
    pattern: /^Error: Invalid or corrupt jarfile (.{1,300})$/,
    find: ([, path = '']) => brokenJar(path, 'is not a jar: it is incomplete, or it is a web page saved in its place.'),
  },
  {
    needle: 'no main manifest attribute',
    pattern: /^no main manifest attribute, in (.{1,300})$/,
    find: ([, path = '']) => brokenJar(path, 'cannot be started: it is a plugin, a mod or a library, not a server.'),
  },
  {
    needle: 'Unable to access jarfile ',
    pattern: /^Error: Unable to access jarfile (.{1,300})$/,
    find: ([, path = '']) => ({
      code: 'missing_jar',
      subject: baseName(path),
      title: 'Program missing',
      detail: `There is no ${baseName(path)} to start.`,
      suggestion: `Upload ${baseName(path)}, or choose a core that is installed for you.`,
    }),
  },
  {
    needle: 'ZipException',
    pattern:
      /ZipException: (?:zip END header not found|error in opening zip file|invalid CEN header|zip file is empty)/,
    find: (_, place) => {
      const jar = failedPlugin(place) ?? nearby(place, JAR) ?? '';
      const finding = brokenJar(jar, 'is damaged: it is incomplete, or it is a web page saved in its place.');
      return { ...finding, title: 'Damaged jar', weight: failedPlugin(place) === undefined ? 'vague' : 'warning' };
    },
  },
  {
    needle: 'nitial heap size set to a larger value',
    pattern: /^Initial heap size set to a larger value than the maximum heap size/,
    find: () =>
      badConfig(
        'heap',
        'The Java options set more initial memory than the maximum.',
        'Remove -Xms from the Java options, or make it no larger than -Xmx.',
      ),
  },
  {
    needle: 'module java.base does not ',
    pattern: /module java\.base does not (?:export|"opens) ?[\w.]{1,80}/,
    find: (_, { context }) => ({
      code: 'wrong_java_version',
      subject: 'older Java',
      title: 'Wrong Java version',
      detail: `This build of ${context.core} requires an older Java than the one it runs on.`,
      suggestion: 'Run it with the Java of its time (Java 8 up to Minecraft 1.16), or use a newer build of it.',
    }),
  },
  {
    needle: 'nsupported class file major version ',
    pattern: /Unsupported class file major version (\d{2,3})/,
    find: ([, version = ''], place) => ({
      code: 'wrong_java_version',
      subject: `Java ${Number(version) - CLASS_FILE_OFFSET}`,
      title: 'Wrong Java version',
      detail: `${failedPlugin(place) ?? 'The mod loader or a mod'} cannot read the classes of Java ${Number(version) - CLASS_FILE_OFFSET}.`,
      suggestion: 'Run the server with an older Java, or update the mod loader and the mods.',
      ...(failedPlugin(place) !== undefined && { weight: 'warning' as const }),
    }),
  },
  {
    needle: 'AccessDeniedException: ',
    pattern: /AccessDeniedException: (\S{1,200})/,
    find: ([, path = '']) => denied(path),
  },
  {
    needle: '(Permission denied)',
    pattern: /(?:FileNotFoundException: |Unable to create file )(\S{1,200}) \(Permission denied\)/,
    find: ([, path = '']) => denied(path),
  },
  {
    needle: 'Read-only file system',
    pattern: /Read-only file system/,
    find: () => ({
      code: 'read_only_disk',
      subject: '',
      title: 'Disk cannot be written',
      detail: "The file system that holds the server's files is read-only.",
      suggestion: 'Ask the operator to check the disk: systems make a disk read-only when it fails.',
    }),
  },
  {
    needle: "can't proceed with server load",
    pattern: /^Failed to load data ?packs, can't proceed with server load/,
    find: (_, place) => {
      const pack = nearby(place, /\bfile\/([\w.+-]{1,100})/) ?? '';
      return {
        code: 'broken_datapack',
        subject: pack,
        title: 'Broken data pack',
        detail: `${pack || 'A data pack of the world'} cannot be loaded by Minecraft ${place.context.version}.`,
        suggestion: `Remove ${pack || 'the data pack added last'} from the world's datapacks folder, or use a build of it for this version.`,
      };
    },
  },
  {
    needle: 'Failed to load ',
    pattern: /^Failed to load (operators list|white-?list|user banlist|ip banlist)\b/,
    find: ([, list = '']) => {
      const file = LISTS[list] ?? '';
      const finding = badConfig(
        file,
        `${file} is not valid JSON, so the list counts as empty.`,
        `Correct ${file}, or delete it and let the game write a new one.`,
      );
      return { ...finding, weight: 'warning' };
    },
  },
  {
    needle: 'fatal error has been detected by the Java Runtime Environment',
    pattern: /^# A fatal error has been detected by the Java Runtime Environment/,
    find: (_, place) => {
      const frame = nearby(place, FRAME) ?? '';
      return {
        code: 'java_crashed',
        subject: frame,
        title: 'Java crashed',
        detail: `Java itself crashed${frame ? ` in ${frame}` : ''}, not the game.`,
        suggestion:
          'Remove mods or plugins that include their own libraries, or use another version of Java. ' +
          'If it happens at random, test the memory of the machine.',
      };
    },
  },
];
