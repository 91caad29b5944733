import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { paperYaml, setYaml, velocityToml, writeNetworkFiles } from '../../src/game/network-files.ts';
import { array, assert, constantFrom, property, subarray, tuple } from '../support/property.ts';

const CASTLE = { name: 'castle', address: '127.0.0.1:25700' };
const TOWER = { name: '1st-tower', address: '[fd00::1]:25701' };
const PATH = ['proxies', 'velocity'];

/** A file of an owner, with what a careless edit would break: strings and arrays of several lines. */
const OWN = `# mine
config-version = "2.6"
bind = "0.0.0.0:25577" # all
motd = """
[servers]
castle = "x"
"""
player-info-forwarding-mode = "NONE"

# hand-made
[servers]
# Configure
lobby = "127.0.0.1:30066" # own
gone = "127.0.0.1:25709" # added by Dormouse
try = [
  "gone", # "lost"
  "lobby",
]

[forced-hosts]
"lobby.example.com" = [
  "lobby"
]

[advanced]
connection-timeout = 5000
`;

test('the server list of Velocity follows the network, and the owner’s other lines and comments stay', (t) => {
  t.is(
    velocityToml(OWN, [CASTLE, TOWER]),
    `# mine
config-version = "2.6"
bind = "127.0.0.1:25565" # all
motd = """
[servers]
castle = "x"
"""
player-info-forwarding-mode = "modern"
forwarding-secret-file = "forwarding.secret"

# hand-made
[servers]
# Configure
lobby = "127.0.0.1:30066" # own
try = ["lobby"]
castle = "127.0.0.1:25700" # added by Dormouse
1st-tower = "[fd00::1]:25701" # added by Dormouse

[forced-hosts]
"lobby.example.com" = [
  "lobby"
]

[advanced]
connection-timeout = 5000
`,
  );
  const alone = velocityToml(OWN, []);
  t.regex(alone, /player-info-forwarding-mode = "NONE"/, 'a front without backends of ours keeps its forwarding');
  t.notRegex(alone, /gone/);
});

test('a new front lists its backends in their order, and keeps those that stay', (t) => {
  const first = velocityToml('', [CASTLE, TOWER]);
  t.regex(first, /\[servers\]\ncastle = .*\n1st-tower = .*\ntry = \["castle", "1st-tower"\]\n\n\[forced-hosts\]\n$/);
  t.regex(first, /^config-version = "2.7"\nonline-mode = true\n/);
  const later = velocityToml(first, [TOWER]);
  t.notRegex(later, /castle/);
  t.regex(later, /try = \["1st-tower"\]/);
  t.regex(velocityToml(later, []), /\[servers\]\ntry = \[\]\n/);
});

const unit = constantFrom(
  '# a comment with [servers] and "',
  '',
  'motd = "a # b \\" [x"',
  "text = '''\n[servers]\n# \n'''",
  'list = [\n  "a", # ]\n  ["b"],\n]',
  'bind = "0.0.0.0:1"',
  'castle = "127.0.0.1:1"',
  'old = "127.0.0.1:25709" # added by Dormouse',
  'try = ["old", "none"]',
  '[servers]',
  '[forced-hosts]',
  '[[tables]]',
);
const backends = subarray([CASTLE, TOWER]);

test('property: edits of velocity.toml are idempotent, and keep all lines of others in order', (t) => {
  assert(
    property(tuple(array(unit, { maxLength: 12 }), constantFrom('\n', '\r\n'), backends), ([units, eol, list]) => {
      const text = units.join('\n').replaceAll('\n', eol);
      const once = velocityToml(text, list);
      t.is(velocityToml(once, list), once);
      const others = (all: string) =>
        all.split(/\r?\n/).filter((each) => each.startsWith('#') || each.startsWith('motd') || each.startsWith('[['));
      t.deepEqual(others(once), others(text));
    }),
  );
});

test('property: a setting of Paper is set in any block mapping, and every other value stays', (t) => {
  const value = constantFrom('1', "'a: b'", '"a #b"', 'true # why');
  const key = constantFrom('x', 'enabled', 'secret', '"quoted"');
  const entry = tuple(key, value).map(([name, text]) => `${name}: ${text}`);
  const block = (indent: number) =>
    array(entry, { maxLength: 3 }).map((all) =>
      [...new Map(all.map((each) => [each.split(':')[0], each])).values()]
        .map((each) => `${' '.repeat(indent)}${each}\n`)
        .join('# note\n\n'),
    );
  assert(
    property(tuple(block(0), block(4), block(8), constantFrom('', '\r')), ([top, inner, innermost, end]) => {
      const below = innermost === '' ? '' : `    velocity: # here\n${innermost}`;
      const within = inner === '' && below === '' ? '' : `proxies:\n${inner}${below}`;
      const text = `${top}${within}`.replaceAll('\n', `${end}\n`);
      const edited = paperYaml(text, PATH, 's3cret');
      const was = (parse(text) ?? {}) as Record<string, Record<string, Record<string, unknown>>>;
      const velocity = { ...was['proxies']?.['velocity'], enabled: true, 'online-mode': true, secret: 's3cret' };
      t.deepEqual(parse(edited), { ...was, proxies: { ...was['proxies'], velocity } });
      t.is(paperYaml(edited, PATH, 's3cret'), edited);
      t.deepEqual(edited.match(/# (?:here|note|why)/g), text.match(/# (?:here|note|why)/g));
    }),
  );
});

test('a mapping in another form of YAML is replaced by one that the game reads', (t) => {
  const expected = { proxies: { velocity: { enabled: true } } };
  for (const text of ['proxies: {}', 'proxies:\n  velocity: {enabled: false}\n', 'proxies: null # none'])
    t.deepEqual(parse(setYaml(text, [...PATH, 'enabled'], 'true')), expected, text);
});

test('Paper’s file of the version is set, and switched off once the server has left the network', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'dormouse-network-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const yaml = async (name: string) => parse(await readFile(join(root, name), 'utf8')) as Record<string, unknown>;
  const secret = 'derived';
  const paper = { type: 'purpur', version: '1.21.8' };
  await writeNetworkFiles(root, paper, { secret });
  const on = { enabled: true, 'online-mode': true, secret };
  t.deepEqual(await yaml('config/paper-global.yml'), { proxies: { velocity: on } });
  await writeNetworkFiles(root, paper, undefined);
  t.deepEqual(await yaml('config/paper-global.yml'), { proxies: { velocity: { ...on, enabled: false } } });
  await writeFile(join(root, 'config/paper-global.yml'), 'proxies:\n  velocity:\n    enabled: true\n');
  await writeNetworkFiles(root, paper, undefined);
  t.deepEqual(await yaml('config/paper-global.yml'), { proxies: { velocity: { enabled: true } } }, 'the owner’s own');

  await writeNetworkFiles(root, { type: 'paper', version: '1.16.5' }, { secret });
  t.deepEqual(await yaml('paper.yml'), { settings: { 'velocity-support': on } });
  await mkdir(join(root, 'other'));
  for (const row of [
    { type: 'paper', version: '1.12.2' },
    { type: 'fabric', version: '1.21.8' },
  ])
    await writeNetworkFiles(join(root, 'other'), row, { secret });
  await t.throwsAsync(readFile(join(root, 'other/paper.yml')), { code: 'ENOENT' });
});
