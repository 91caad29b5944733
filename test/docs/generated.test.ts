import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { DOCS, GENERATED } from './generated.ts';

/** Normalizes the column widths and header dashes, which the formatter chooses. */
const unpadded = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');

for (const [name, page] of Object.entries(GENERATED)) {
  test(`docs/${name} matches the code (npm run docs regenerates it)`, async (t) => {
    t.is(unpadded(await readFile(join(DOCS, name), 'utf8')), unpadded(page()));
  });
}
