import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { REFERENCE } from '../support/reference.ts';

const CLI = join(import.meta.dirname, '../../src/cli');
const CALL = /\.(GET|POST|PUT|DELETE)\(\s*['`](\/v1\/[^'`]+)['`]/g;

/** What a command does by another operation, which takes files of any size. */
const BY_ANOTHER: Readonly<Record<string, string>> = { ReadFile: 'DownloadPath', WriteFile: 'UploadFile' };

/** `METHOD /path` of each call in a source. The last word of a path that is put together is one that is quoted there. */
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
  t.is(REFERENCE.length, 96);
  t.deepEqual(
    missing.map(({ id, method, path }) => `${id}: ${method} ${path}`),
    [],
  );
});
