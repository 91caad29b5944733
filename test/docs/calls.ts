import { openapiDocument } from '../../src/http/openapi.ts';
import { OPERATIONS as ALL } from '../../src/reference.ts';

interface Schema {
  $ref?: string;
  properties?: Record<string, unknown>;
}

type Method = { requestBody?: { content: Record<string, { schema?: Schema }> } };

const { paths, components } = openapiDocument({ baseUrl: 'http://localhost:8080' }, ALL) as unknown as {
  paths: Record<string, Record<string, Method>>;
  components: { schemas: Record<string, Schema> };
};

/** The path pattern of each operation, and the fields that it reads from a body. */
const OPERATIONS = Object.entries(paths).map(([path, methods]) => ({
  pattern: new RegExp(`^${path.replaceAll(/[.*+?()[\]\\]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/:]+')}$`),
  fields: Object.values(methods).flatMap(({ requestBody }) =>
    fieldsOf(requestBody?.content['application/json']?.schema),
  ),
}));

/** The path template of each operation. */
export const API_PATHS: readonly string[] = Object.keys(paths);

/**
 * Returns the unknown paths and fields of recorded calls, one `URL<tab>BODY` per line. The service ignores unknown
 * fields, so a typing error in a page would go unnoticed.
 */
export function unknownIn(calls: string): string[] {
  return calls.split('\n').flatMap((line) => {
    const [url = '', body = ''] = line.split('\t');
    const [, path = ''] = /^(?:https?:\/\/)?[^/]+(\/[^?]*)/.exec(url) ?? [];
    if (body === '') return [];
    const known = OPERATIONS.filter(({ pattern }) => pattern.test(path));
    if (known.length === 0) return [`nothing is at ${path}`];
    const fields = new Set(known.flatMap((each) => each.fields));
    return Object.keys(JSON.parse(body) as object)
      .filter((name) => !fields.has(name))
      .map((name) => `${path} does not know the field ${name}`);
  });
}

function fieldsOf(schema: Schema | undefined): string[] {
  if (schema?.$ref !== undefined) return fieldsOf(components.schemas[schema.$ref.split('/').at(-1) ?? '']);
  return Object.keys(schema?.properties ?? {});
}
