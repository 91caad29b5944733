import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { REFERENCE } from '../support/reference.ts';

const CLI = join(import.meta.dirname, '../../src/cli');
const CALL = /\.(GET|POST|PUT|DELETE)\(\s*['`](\/v1\/[^'`]+)['`]/g;

/** Operations that commands replace by another one, which accepts files of any size. */
const BY_ANOTHER: Readonly<Record<string, string>> = { ReadFile: 'DownloadPath', WriteFile: 'UploadFile' };

/** Returns `METHOD /path` of each call in a source. A variable at the end of a path stands for each quoted word. */
function callsIn(source: string): string[] {
  const quoted = [...source.matchAll(/'(\w+)'/g)].map(([, word = '']) => word);
  return [...source.matchAll(CALL)].flatMap(([, method = '', path = '']) => {
    const words = path.includes('${') ? quoted : [''];
    return words.map((word) => `${method} ${path.replace(/\$\{\w+\}$/, word)}`);
  });
}

test('every operation of the API reference has a command', (t) => {
  const sources = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const made = new Set(sources.flatMap((file) => callsIn(readFileSync(join(CLI, file), 'utf8'))));
  const called = new Set(REFERENCE.filter(({ method, path }) => made.has(`${method} ${path}`)).map(({ id }) => id));
  const missing = REFERENCE.filter(({ id }) => !called.has(BY_ANOTHER[id] ?? id));
  t.is(REFERENCE.length, 116);
  t.deepEqual(
    missing.map(({ id, method, path }) => `${id}: ${method} ${path}`),
    [],
  );
});
