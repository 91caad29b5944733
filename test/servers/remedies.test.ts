import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { isServerTab } from '../../src/web/panel/server-frame.ts';
import { NOTHING_TO_MEND, remedyOf } from '../../src/servers/pages/alerts.ts';
import { openPanel } from '../support/panel.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIAGNOSIS = 'src/game/diagnosis';

/** The sources of failure codes: `code` fields, the code for a reason, and the engine's union of codes. */
const SOURCES = [
  ...readdirSync(join(ROOT, DIAGNOSIS)).map((name) => `${DIAGNOSIS}/${name}`),
  'machines/server-reasons.ts',
  'src/servers/server-now.ts',
  'src/servers/lost-start.ts',
  'src/servers/diagnoser.ts',
  'src/engines/engine.ts',
];
const CODE = /\bcode: '([a-z_]+)'|^ {2}[A-Z_]+: \[\s*'([a-z_]+)'|^ {2}\| '([a-z_]+)'/gm;
/** The code that the diagnosis replaces with another. */
const REPLACED = 'install_failed';

function allCodes(): string[] {
  const text = SOURCES.map((source) => readFileSync(join(ROOT, source), 'utf8')).join('\n');
  const found = [...text.matchAll(CODE)];
  const codes = found.map(([, ...groups]) => groups.find((group) => group !== undefined) ?? '');
  return [...new Set(codes)].filter((code) => code !== REPLACED).toSorted();
}

test('each failure code leads to the page that fixes it, unless only a retry, time or the operator helps', (t) => {
  const codes = allCodes();
  for (const code of ['out_of_memory', 'crash_loop', 'modpack_invalid', 'wrong_port', 'node_lost', 'cancelled'])
    t.true(codes.includes(code), code);
  for (const code of codes) {
    const remedy = remedyOf(code);
    t.is(remedy === undefined, NOTHING_TO_MEND.has(code), code);
    if (remedy !== undefined) t.true(isServerTab(`/${remedy[0].split('/')[0]}`), code);
  }
  for (const code of NOTHING_TO_MEND) t.true(codes.includes(code), code);
});

test('a crash loop or a timeout leads to the remedy for its diagnosed cause', (t) => {
  const latest = (code: string, ...insights: string[]) => ({
    code,
    insights: insights.map((each) => ({ code: each, subject: '', summary: '', suggestion: '', evidence: [] })),
  });
  t.deepEqual(remedyOf('crash_loop', latest('out_of_memory')), remedyOf('out_of_memory'));
  t.deepEqual(remedyOf('start_timeout', latest('start_timeout', 'disk_full')), remedyOf('disk_full'));
  t.deepEqual(remedyOf('crash_loop', latest('unknown')), remedyOf('crash_loop'));
  t.deepEqual(remedyOf('broken_jar', latest('out_of_memory')), remedyOf('broken_jar'));
});

test('a crash loop shows the remedy for its cause, on the front page and among the alerts', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'START');
  for (let times = 1; times <= 3; times++) {
    await it.reach('castle', 'running');
    await it.clock.advance(61_000);
    it.engine.print('castle', 'java.lang.OutOfMemoryError: Java heap space');
    it.engine.crash('castle');
    if (times < 3) await it.until(() => it.engine.boots.length === times + 1);
  }
  await it.reach('castle', 'start_failed');
  const { text } = await it.get('/servers/castle');
  const remedy = 'href="/servers/castle/settings">Give it more RAM';
  t.regex(
    text,
    new RegExp(`<strong>Crash loop</strong>[^]*class="button second" ${remedy}[^]*Alerts[^]*<a\\s+${remedy}`),
  );
});
