/** The displayed part of a message or field in the document (JSON Schema). */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description: string;
  schema: Schema;
}

type Content = Record<string, { schema: Schema; example?: unknown }>;

interface Response {
  $ref?: string;
  description?: string;
  content?: Content;
}

/** One operation of the document. */
export interface Described {
  operationId: string;
  method: string;
  path: string;
  tags: string[];
  summary: string;
  description: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, Response>;
  'x-section'?: string;
}

/** A group of operations with their common description. */
export interface Section {
  title: string;
  lead: string;
  operations: Described[];
}

/** The API's document in the form of the page. */
interface Api {
  lead: string;
  sections: Section[];
  messages: [name: string, schema: Schema][];
}

const TITLES: Record<string, string> = {
  account: "Account's consent",
  public: 'Public',
  session: 'Panel',
  operator: 'Operators',
};

/**
 * Converts an OpenAPI document to sections: those of the control API in the reference's order, then every other tag.
 */
export function describedApi(document: object): Api {
  const { info, tags, paths, components } = document as {
    info: { description: string };
    tags: { name: string; description: string }[];
    paths: Record<string, Record<string, Described>>;
    components: { schemas: Record<string, Schema> };
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => Object.assign({}, operation, { method, path })),
  );
  const leads = new Map(tags.map(({ name, description }) => [name, description]));
  const sections = [...Map.groupBy(all, ({ tags: [tag = ''], 'x-section': section }) => section ?? tag)];
  return {
    lead: info.description,
    sections: sections
      .map(([key, operations]) => ({ title: TITLES[key] ?? key, lead: leads.get(key) ?? '', operations, tag: key }))
      .toSorted((one, other) => Number(leads.has(one.tag)) - Number(leads.has(other.tag))),
    messages: Object.entries(components.schemas).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  };
}
