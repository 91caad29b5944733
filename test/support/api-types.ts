import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeApi } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';

/** Where the command line and the panel find the types of the API; `npm run client` writes it. */
export const API_TYPES = join(import.meta.dirname, '../../src/http/api-types.ts');

const HEAD = '// Generated from the API description by `npm run client`; not to be edited.\n\n';

/** The API's paths and messages as TypeScript, from the description as it is now. */
export async function apiTypes(): Promise<string> {
  const { astToString, default: openapiTS } = await import('openapi-typescript');
  const document = openapiDocument({ baseUrl: 'http://localhost:8080' }, describeApi());
  // A field with a default may be left out of a request.
  const ast = await openapiTS(JSON.stringify(document), { defaultNonNullable: false, silent: true });
  return `${HEAD}${astToString(ast)}`;
}

if (import.meta.main) await writeFile(API_TYPES, await apiTypes());
