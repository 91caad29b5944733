import * as z from 'zod';

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

/**
 * Unicode sets that not every regular-expression language names, as the content of brackets. Characters that only some
 * languages can escape appear literally.
 */
const SETS: Record<string, string> = {
  d: '0-9',
  w: 'A-Za-z0-9_',
  Cc: String.raw`\x00-\x1f\x7f-\x9f`,
  Bidi_Control: '\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069',
  // https://www.unicode.org/Public/16.0.0/ucd/extracted/DerivedGeneralCategory.txt
  Cf:
    '\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF' +
    '\uFFF9-\uFFFB\u{110BD}\u{110CD}\u{13430}-\u{1343F}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0001}\u{E0020}-\u{E007F}',
};

const TOKEN = /\\u(?<unit>[0-9A-Fa-f]{4})|\\(?<set>[dw])|\\p\{(?<named>\w+)\}|\\P\{(?<but>\w+)\}|\\.|\[\^?|\]/gu;

/**
 * Converts a JavaScript pattern to one that Go, Python and other languages read alike: without names of Unicode sets
 * and `\u`, and with only ASCII for `\d` and `\w`. Consumers of the document compile its patterns. Constructs without
 * such a form (lookahead, set difference) stay unchanged.
 */
export function portablePattern(source: string): string {
  let inBrackets = false;
  return source.replaceAll(TOKEN, (token: string, ...rest: unknown[]) => {
    const { unit, set, named, but } = rest.at(-1) as Partial<Record<'unit' | 'set' | 'named' | 'but', string>>;
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
    const characters = SETS[set ?? named ?? but ?? ''];
    if (characters !== undefined && but !== undefined) return inBrackets ? token : `[^${characters}]`;
    if (characters !== undefined) return inBrackets ? characters : `[${characters}]`;
    if (token.startsWith('[')) inBrackets = true;
    else if (token === ']') inBrackets = false;
    return token;
  });
}
