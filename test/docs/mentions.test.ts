import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { settings } from '../../src/config.ts';
import { PAGES, partsOf, readPage } from './blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** Returns the anchors that GitHub generates for the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('links in the docs lead to existing files and headings', (t) => {
  for (const page of PAGES) {
    for (const [, path = '', anchor] of readPage(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
      t.true(existsSync(target), `${page}: ${path}`);
      if (anchor === undefined || !existsSync(target)) continue;
      t.true(anchorsOf(readFileSync(target, 'utf8')).includes(anchor), `${page}: ${path}#${anchor}`);
    }
  }
});

test('every npm script and setting in the text of the docs exists', (t) => {
  const names = new Set(Object.values(settings).map(({ name }) => name));
  for (const page of PAGES) {
    const text = readPage(page);
    for (const [, script = ''] of text.matchAll(/\bnpm (?:-s )?run ([\w:-]+)/g)) {
      t.true(Object.hasOwn(scripts, script), `${page}: npm run ${script}`);
    }
    for (const [, name = ''] of text.matchAll(/`([A-Z]+(?:_[A-Z]+)+)=[^`]*`/g)) {
      t.true(names.has(name.replace(/_FILE$/, '')) || OF_OTHERS.has(name), `${page}: ${name}`);
    }
  }
});

test('every settings line in the docs names an existing setting', (t) => {
  const names = new Set(Object.values(settings).map(({ name }) => name));
  const lines = PAGES.flatMap((page) =>
    partsOf(readPage(page))
      .filter(({ kind, language }) => kind === 'fence' && language === 'text')
      .flatMap(({ text, line }) => text.split('\n').map((each) => ({ each, where: `${page}:${line}` }))),
  );
  const set = lines.flatMap(({ each, where }) => {
    const [, name] = /^([A-Z][A-Z0-9_]*)=/.exec(each) ?? [];
    return name === undefined ? [] : [{ name, where }];
  });
  t.true(set.length > 5);
  for (const { name, where } of set) {
    t.true(names.has(name.replace(/_FILE$/, '')) || OF_OTHERS.has(name), `${where}: ${name}`);
  }
});

/** Variables of Compose, the proxy program and the tests. */
const OF_OTHERS = new Set(['COMPOSE_PROFILES', 'CONTROL_PLAIN', 'CONTROL_URL', 'TEST_SEED']);
