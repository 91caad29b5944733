import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { againAfter } from '../../machines/server-reasons.ts';
import type { Ending } from '../../machines/server-types.ts';
import { ENDINGS } from '../../src/billing/pages/words.ts';
import { KINDS, SYSTEM, WHAT, groupWords, groupedEntries } from '../../src/audit/words.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The sources that may record an action. Pages only show actions. */
const SOURCES = globSync(['machines/*.ts', 'src/**/*.ts'], { cwd: ROOT })
  .filter((path) => !/\/pages\/|^src\/(?:audit\/words\.ts|cli\/|sandbox\/)/.test(path))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const ACTION = /'([a-z][A-Za-z]*)(?:\.[a-z][A-Za-z]*)+'/g;
const FILE = /\.(?:id|js|json|txt|css|jar|port|password)'$/;
/** Names that are no actions: an alert, a payment provider's events, and states. */
const NO_ACTION =
  /^'(?:spendCap\.reached|checkout\.session\.\w+|startFailed\.inLine|server\.(?:install|start)Failed\.cleared)'$/;

/**
 * Returns the causes for which the service itself starts or stops servers. Excludes the causes of device grants, which
 * no audit log contains, and `restored`, which belongs to no step.
 */
function systemCauses(): string[] {
  const found = SOURCES.filter(({ path }) => !path.startsWith('src/grants/')).flatMap(({ text }) =>
    Array.from(text.matchAll(/kind: 'system', id: '(\w+)'/g), ([, id = '']) => id),
  );
  const endings: Record<Ending, true> = { crashed: true, lost: true, ended: true, stopped: true };
  const again = Object.keys(endings).map((how) => againAfter(how as Ending).id);
  const spent: string[] = ['funds', 'spend_cap'];
  return [...new Set([...found, ...again, ...spent])].filter((id) => id !== 'restored');
}

/** Events that only webhooks are notified of. */
const NOT_AUDITED = new Set(['server.started', 'server.asleep', 'server.hung', 'backup.finish', 'backup.fail']);

test('every recorded action has words for the audit log', (t) => {
  const recording = SOURCES.flatMap(({ text }) => text.split('\n')).filter((line) =>
    /\b(?:action|audit|record)/i.test(line),
  );
  const subjects = new Set(recording.flatMap((line) => Array.from(line.matchAll(ACTION), ([, subject]) => subject)));
  for (const subject of ['server', 'node', 'client', 'orphan', 'players', 'backup'])
    t.true(subjects.has(subject), subject);
  const actions = SOURCES.flatMap(({ text }) => Array.from(text.matchAll(ACTION)))
    .filter(([literal, subject]) => subjects.has(subject) && !FILE.test(literal) && !NO_ACTION.test(literal))
    .map(([literal]) => literal.slice(1, -1));
  t.true(actions.length > 100, String(actions.length));
  t.deepEqual(
    [...new Set(actions)].filter((action) => !(action in WHAT) && !NOT_AUDITED.has(action)),
    [],
  );
});

test('each kind of action has a name in the filter', (t) => {
  const kinds = new Set(Object.keys(WHAT).map((action) => action.split('.', 1)[0] ?? ''));
  const named = new Set(Object.keys(KINDS));
  t.deepEqual([[...kinds].filter((kind) => !named.has(kind)), [...named].filter((kind) => !kinds.has(kind))], [[], []]);
});

test('consecutive entries of the same person, action and folder become one line', (t) => {
  const entry = (action: string, detail: string, userId = 'usr_1') => ({ userId, through: 'session', action, detail });
  const upload = (path: string, userId?: string) => entry('file.upload', path, userId);
  const plugins = Array.from({ length: 80 }, (_, nth) => upload(`plugins/${nth}.jar`));
  const updates = Array.from({ length: 3 }, () => entry('server.update', 'name'));
  const log = [...plugins, upload('a.txt'), upload('b.txt'), upload('c.txt', 'usr_2'), ...updates, upload('d.txt')];
  const groups = groupedEntries(log);
  t.deepEqual(
    groups.map(({ length }) => length),
    [80, 1, 1, 1, 3, 1],
    'pairs stay apart, and others between them end a group',
  );
  t.deepEqual(groups.flat(), log);
  t.is(groupWords(groups[0]!), 'uploaded 80 files to plugins');
  t.is(groupWords([upload('a.txt'), upload('b.txt'), upload('c.txt')]), 'uploaded 3 files to the server’s folder');
  t.is(groupWords(groups[4]!), 'changed settings, 3 times');
});

test('every system cause has a reason in words, in the audit log and on the bill', (t) => {
  const causes = systemCauses();
  for (const id of ['idle', 'quota', 'shutdown', 'crash', 'unexpected']) t.true(causes.includes(id), id);
  const through = SOURCES.flatMap(({ text }) => Array.from(text.matchAll(/'system (\w+)'/g), ([, id = '']) => id));
  t.deepEqual(
    [...causes, ...through].filter((id) => !(id in SYSTEM)),
    [],
  );
  t.deepEqual(
    causes.filter((id) => !(id in ENDINGS)),
    [],
  );
});
