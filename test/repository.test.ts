import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import test from 'ava';

const ROOT = join(import.meta.dirname, '..');

/** One part of the program and what it may see. The first room whose `files` match a path holds it. */
interface Room {
  name: string;
  /** Paths from the repository's root: a directory (`src/store/`) or a file. */
  files: string[];
  /** Rooms and single files it may import, beside itself; `*` is everything. */
  imports: string[];
  /** The same, for types only: they leave nothing in the running program. */
  types?: string[];
  /** Packages it may import beside Node's own modules; `*` is all but {@link GAME_PACKAGES}, which are `game`. */
  packages: string[];
}

/** What every room of the service may name in its types. */
const SHAPES = ['src/log.ts'];

const ROOMS: Room[] = [
  { name: 'test', files: ['test/'], imports: ['*'], packages: ['*', 'game'] },
  { name: 'machines', files: ['machines/'], imports: [], packages: ['xstate'] },
  { name: 'proxy', files: ['proxy/'], imports: [], packages: [] },
  { name: 'migrations', files: ['migrations/'], imports: [], packages: ['typeorm'] },
  { name: 'sandbox', files: ['src/sandbox/'], imports: [], packages: ['*', 'game'] },
  {
    name: 'contracts',
    files: [
      'src/ports.ts',
      'src/status.ts',
      'src/ids.ts',
      'src/ip-address.ts',
      'src/sleep.ts',
      'src/turns.ts',
      'src/kernel/',
    ],
    imports: [],
    types: SHAPES,
    packages: ['*'],
  },
  {
    name: 'adapters',
    files: ['src/adapters/'],
    imports: ['contracts', 'proxy/ping.ts'],
    types: SHAPES,
    packages: ['*'],
  },
  {
    name: 'store',
    files: ['src/store/'],
    imports: ['contracts', 'migrations'],
    types: SHAPES,
    packages: ['typeorm', 'sqlite3', 'pg'],
  },
  ...['hosting', 'billing', 'access'].map((name) => ({
    name,
    files: [`src/${name}/`],
    imports: ['contracts', 'store'],
    types: ['machines', ...SHAPES],
    packages: ['*'],
  })),
  {
    name: 'actors',
    files: ['src/actors/'],
    imports: ['machines', 'hosting', 'store', 'access', 'proxy/ports.ts', 'contracts'],
    types: SHAPES,
    packages: ['xstate'],
  },
  {
    name: 'sftp',
    files: ['src/sftp/'],
    imports: ['hosting', 'access', 'store', 'contracts'],
    types: SHAPES,
    packages: ['ssh2'],
  },
  {
    name: 'api',
    files: ['src/api/'],
    imports: ['actors', 'hosting', 'billing', 'access', 'store', 'contracts'],
    types: ['machines', 'sftp', 'src/config.ts', ...SHAPES],
    packages: ['*'],
  },
  {
    name: 'web',
    files: ['src/web/'],
    imports: ['api', 'actors', 'hosting', 'billing', 'access', 'store', 'contracts'],
    types: ['machines', 'src/config.ts', ...SHAPES],
    packages: ['*'],
  },
  {
    name: 'observability',
    files: ['src/observability/'],
    imports: ['contracts', 'store'],
    types: SHAPES,
    packages: ['prom-client'],
  },
  { name: 'cli', files: ['src/cli/'], imports: ['contracts'], packages: ['*'] },
  {
    name: 'compose',
    files: ['src/compose/'],
    imports: [
      'adapters',
      'sandbox',
      'proxy',
      'web',
      'api',
      'sftp',
      'actors',
      'hosting',
      'billing',
      'access',
      'observability',
      'store',
      'contracts',
    ],
    types: ['machines', 'src/config.ts', ...SHAPES],
    packages: [],
  },
  { name: 'app', files: ['src/app.ts', 'src/main.ts'], imports: ['*'], packages: ['*'] },
  {
    name: 'process',
    files: ['src/config.ts', 'src/setting-kinds.ts', 'src/log.ts', 'src/log-pretty.ts'],
    imports: ['src/status.ts'],
    packages: ['*'],
  },
];

/** A Minecraft server or client in a library: hundreds of megabytes, for the one process that is a game, and for tests. */
const GAME_PACKAGES = /^(?:minecraft-protocol|minecraft-data|mineflayer|vec3|prismarine-[\w-]+|flying-squid)$/;

/** The programs' entries and the one place of each that reads the environment. */
const READERS_OF_ENVIRONMENT = [
  'src/config.ts',
  // Not for settings: a game's process inherits the search path and the locale.
  'src/adapters/process.ts',
  'src/cli/main.ts',
  'src/sandbox/environment.ts',
  'src/sandbox/main.ts',
];

/** What may lie at the top, dot files aside; what git ignores is nobody's business. */
const TOP_LEVEL = [
  'Dockerfile',
  'LICENSE',
  'README.md',
  'compose.yaml',
  'machines',
  'migrations',
  'package-lock.json',
  'package.json',
  'proxy',
  'src',
  'test',
  'tsconfig.json',
];
const IGNORED = /^(?:\..*|node_modules|data|coverage|.*\.log)$/;

interface Import {
  from: string;
  /** A path from the repository's root, or a package's or built-in module's name. */
  to: string;
  ours: boolean;
  typeOnly: boolean;
}

/** Statements begin at the line's start: the formatter sees to it, and so comments and texts are not mistaken for them. */
const STATEMENT =
  /^(?:import|export) (type )?(?:(\{[^}]*\}|\*(?: as [\w$]+)?|[\w$]+(?:, (?:\{[^}]*\}|\* as [\w$]+))?) from )?'([^'\n]+)'/gm;
const EXPRESSION = /(\btypeof )?\bimport\(\s*'([^'\n]+)'\s*\)/g;

const sources = ['machines', 'proxy', 'migrations', 'src', 'test'].flatMap(filesBelow);
const texts = new Map(sources.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const imports = sources.flatMap(importsOf);

function filesBelow(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort();
}

function importsOf(from: string): Import[] {
  const text = texts.get(from) ?? '';
  const found: Import[] = [];
  for (const [, type, names = '', to = ''] of text.matchAll(STATEMENT))
    found.push(resolved(from, to, type !== undefined || onlyTypes(names)));
  for (const [, type, to = ''] of text.matchAll(EXPRESSION)) found.push(resolved(from, to, type !== undefined));
  return found;
}

function onlyTypes(names: string): boolean {
  const inside = /^\{([^}]*)\}$/.exec(names)?.[1]?.split(',') ?? [];
  const named = inside.map((name) => name.trim()).filter((name) => name !== '');
  return named.length > 0 && named.every((name) => name.startsWith('type '));
}

function resolved(from: string, to: string, typeOnly: boolean): Import {
  if (to.startsWith('.')) return { from, to: posix.join(posix.dirname(from), to), ours: true, typeOnly };
  const scoped = to.startsWith('@') ? 2 : 1;
  return { from, to: isBuiltin(to) ? to : to.split('/').slice(0, scoped).join('/'), ours: false, typeOnly };
}

function roomOf(file: string): Room | undefined {
  return ROOMS.find(({ files }) => files.some((each) => (each.endsWith('/') ? file.startsWith(each) : file === each)));
}

function sees(allowed: readonly string[], file: string): boolean {
  return allowed.some((each) => each === '*' || each === file || each === roomOf(file)?.name);
}

function allowedFile(room: Room, { to, typeOnly }: Import): boolean {
  if (roomOf(to) === room || sees(room.imports, to)) return true;
  return typeOnly && sees(room.types ?? [], to);
}

function allowedPackage(room: Room, { to }: Import): boolean {
  if (isBuiltin(to) || room.packages.includes(to)) return true;
  return room.packages.includes(GAME_PACKAGES.test(to) ? 'game' : '*');
}

/** The nodes of a graph that lie on a circle, or between two: those without a way in or out are taken away until none is left. */
function inCircles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let left = [...edges.keys()];
  for (let before = -1; before !== left.length;) {
    before = left.length;
    left = left.filter((name) => left.some((other) => edges.get(name)?.has(other)));
    left = left.filter((name) => left.some((other) => edges.get(other)?.has(name)));
  }
  return left;
}

/** Fails with every violation at once, so that one run shows them all. */
function none(t: { is(actual: string, expected: string): void }, violations: string[]): void {
  t.is(violations.join('\n'), '');
}

test('the scanner sees every import', (t) => {
  const statements = (text: string) => [...text.matchAll(STATEMENT)].map(([, type, names, to]) => [type, names, to]);
  t.deepEqual(statements("import a from 'a';\nimport type { B } from 'b';\nimport {\n  c,\n  type D,\n} from 'c';\n"), [
    [undefined, 'a', 'a'],
    ['type ', '{ B }', 'b'],
    [undefined, '{\n  c,\n  type D,\n}', 'c'],
  ]);
  t.deepEqual(statements("import 'a';\nexport * from 'b';\nexport { c } from 'c';\nimport d, * as e from 'd';\n"), [
    [undefined, undefined, 'a'],
    [undefined, '*', 'b'],
    [undefined, '{ c }', 'c'],
    [undefined, 'd, * as e', 'd'],
  ]);
  t.deepEqual(statements("// import a from 'a';\n * import b from 'b';\nexport const c = 'c';\n  import('d');\n"), []);
  t.true(onlyTypes('{ type A, type B }'));
  t.false(onlyTypes('{ type A, b }'));
  // Were the patterns blind, nothing below could fail: count by a coarser look at the same texts.
  const coarse = [...texts.values()].reduce(
    (sum, text) => sum + (text.match(/^(?:import .*|.*\}) from '/gm)?.length ?? 0),
    0,
  );
  t.true(imports.length >= coarse * 0.98 && coarse > 0, `${imports.length} of about ${coarse}`);
});

test('circles are found, and only they', (t) => {
  const graph = (edges: Record<string, string>) =>
    new Map(Object.entries(edges).map(([name, others]) => [name, new Set(others)]));
  t.deepEqual(inCircles(graph({ a: 'b', b: 'c', c: '' })), []);
  t.deepEqual(inCircles(graph({ a: 'b', b: 'c', c: 'bd', d: '' })), ['b', 'c']);
});

for (const room of ROOMS.filter(({ name }) => name !== 'test'))
  test(`${room.name} imports what it may see`, (t) => {
    const may =
      [...room.imports, ...(room.types ?? []).map((each) => `${each} (types)`)].join(', ') || 'nothing of ours';
    const packages =
      room.packages.map((each) => (each === '*' ? 'all but games' : each)).join(', ') || "Node's own modules only";
    none(
      t,
      imports
        .filter((each) => roomOf(each.from) === room)
        .filter((each) => !(each.ours ? allowedFile(room, each) : allowedPackage(room, each)))
        .map(
          ({ from, to, ours, typeOnly }) =>
            `${from} imports ${to}${typeOnly ? ' (types)' : ''}; ${room.name} may import: ${ours ? may : packages}`,
        ),
    );
  });

test('every source file is in a room', (t) => {
  none(
    t,
    sources
      .filter((file) => !roomOf(file))
      .map((file) => `${file} is in none of: ${ROOMS.map(({ name }) => name).join(', ')}`),
  );
});

test('no rooms import each other in a circle', (t) => {
  const seen = new Map<string, Set<string>>(ROOMS.map(({ name }) => [name, new Set()]));
  for (const { from, to, ours } of imports) {
    const [here, there] = [roomOf(from)?.name, ours ? roomOf(to)?.name : undefined];
    if (here && there && here !== there) seen.get(here)?.add(there);
  }
  const left = inCircles(seen);
  none(
    t,
    left.flatMap((name) =>
      left.filter((other) => seen.get(name)?.has(other)).map((other) => `${name} imports ${other}, in a circle`),
    ),
  );
});

test('what runs in production is a dependency', (t) => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  none(
    t,
    imports
      .filter(({ from, to, ours, typeOnly }) => !from.startsWith('test/') && !ours && !typeOnly && !isBuiltin(to))
      .filter(({ to }) => !Object.hasOwn(dependencies, to))
      .map(({ from, to }) => `${from} imports ${to}, which package.json does not list among the dependencies`),
  );
});

test('settings come from the configuration', (t) => {
  none(
    t,
    sources
      .filter((file) => !file.startsWith('test/') && !READERS_OF_ENVIRONMENT.includes(file))
      .filter((file) => /\bprocess\.env\b/.test(texts.get(file) ?? ''))
      .map((file) => `${file} reads process.env; only these may: ${READERS_OF_ENVIRONMENT.join(', ')}`),
  );
});

test('machines ask neither the clock nor chance', (t) => {
  none(
    t,
    sources
      .filter((file) => file.startsWith('machines/'))
      .flatMap((file) =>
        [
          ...(texts.get(file) ?? '').matchAll(/\bDate\.now\(|\bMath\.random\(|\bnew Date\(\)|\bperformance\.now\(/g),
        ].map(([call]) => `${file} calls ${call}…; time comes with events`),
      ),
  );
});

test('nothing lies at the top that has no place there', (t) => {
  none(
    t,
    readdirSync(ROOT)
      .filter((name) => !IGNORED.test(name) && !TOP_LEVEL.includes(name))
      .map((name) => `${name} is none of: ${TOP_LEVEL.join(', ')}`),
  );
});
