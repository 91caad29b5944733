import * as z from 'zod';
import { portablePattern } from './portable-pattern.ts';

type Json = Record<string, unknown>;

/** Named schemas. Those with an id are written once and referenced. */
export class Components {
  readonly schemas: Record<string, Json> = {};

  request(schema: z.ZodType): Json {
    return this.#convert(schema, 'input');
  }

  reply(schema: z.ZodType): Json {
    return this.#convert(schema, 'output');
  }

  /** Converts the fields of a message to parameters of a path, query or header. */
  parameters(schema: z.ZodType, where: 'path' | 'query' | 'header'): Json[] {
    const object = z.toJSONSchema(schema, { io: 'input', override: sent });
    return Object.entries(object.properties ?? {}).map(([name, field]) => {
      const { description, ...rest } = field as Json;
      const required = where === 'path' || (object.required?.includes(name) ?? false);
      return { name, in: where, required, description: description ?? '', schema: moved(rest) };
    });
  }

  #convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $defs = {},
      $schema: _,
      ...root
    } = moved(z.toJSONSchema(schema, { io, override: io === 'input' ? sent : loosen }));
    Object.assign(this.schemas, $defs);
    return root;
  }
}

/**
 * Replies may gain fields (AIP-180). `format` describes an instant; its leap-year pattern is unreadable and removed.
 */
function loosen({ jsonSchema }: { jsonSchema: Json }): void {
  if (jsonSchema['additionalProperties'] === false) delete jsonSchema['additionalProperties'];
  if (jsonSchema['format'] === 'date-time') delete jsonSchema['pattern'];
}

/** Input texts must not contain NUL (`text`, `filePath`), unless a stricter pattern excludes it already. */
function sent({ jsonSchema }: { jsonSchema: Json }): void {
  loosen({ jsonSchema });
  const isAnyText =
    jsonSchema['type'] === 'string' &&
    !['pattern', 'enum', 'const', 'format', 'allOf'].some((key) => key in jsonSchema);
  if (isAnyText) jsonSchema['pattern'] = String.raw`^[^\x00]*$`;
}

/** Moves the definitions of a converted schema to the document's, and makes patterns portable between languages. */
function moved(converted: object): Json {
  const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text, (key, value: unknown) =>
    key === 'pattern' && typeof value === 'string' ? portablePattern(value) : value,
  ) as Json;
}
