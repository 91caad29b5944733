import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OPERATIONS } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';

/** The generated file. `npm run client` and `npm run check` write it; only the compiler and editors read it. */
const FILE = join(import.meta.dirname, '../../src/http/api-types.ts');
const HEAD = '// Generated from the API description by `npm run client`; not to be edited.\n\n';

/** Returns the API's paths and messages as TypeScript, from the current description. */
async function apiTypes(): Promise<string> {
  const { astToString, default: openapiTS } = await import('openapi-typescript');
  const document = openapiDocument({ baseUrl: 'http://localhost:8080' }, OPERATIONS);
  // A field with a default may be left out of a request.
  const ast = await openapiTS(JSON.stringify(document), { defaultNonNullable: false, silent: true });
  return `${HEAD}${astToString(ast)}`;
}

const types = await apiTypes();
const previous = await readFile(FILE, 'utf8').catch(() => undefined);
// Skip an unchanged file: editors check everything again after a write.
if (types !== previous) await writeFile(FILE, types);
