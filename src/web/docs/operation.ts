import { type Html, html } from '../html.ts';
import type { Described, Schema } from './described.ts';

interface Context {
  baseUrl: string;
  messages: ReadonlyMap<string, Schema>;
}

/** Shows one operation, collapsed. Its anchor is its name. */
export function operationCard(operation: Described, context: Context): Html {
  const { operationId, method, path, summary, description, parameters = [] } = operation;
  const [bodyType, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const example = body && exampleText(body, bodyType, context);
  return html`<details
    class="operation"
    id="${operationId}"
    data-method="${method.toUpperCase()}"
    data-path="${path}"
    data-access="${accessOf(operation)}"
  >
    <summary>
      <span class="method ${method}">${method.toUpperCase()}</span>
      <span class="what"><code>${breakable(path)}</code><span>${summary}</span></span>
    </summary>
    <div class="about">
      ${description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
      <p class="name">
        <a href="#${operationId}">${operationId}</a>
      </p>
      ${
        parameters.length > 0 &&
        html`<h4>Parameters</h4>
          <dl class="fields">
            ${parameters.map(
              ({ name, in: where, required = false, description, schema }) =>
                html`<div data-parameter="${name}" data-in="${where}">
                  ${row(name, { ...schema, description }, { required, note: `in ${where}` })}
                </div>`,
            )}
          </dl>`
      }
      ${
        body &&
        html`<h4>Request</h4>
          ${messageShown(body.schema, true, context)}
          <pre class="example" data-body="${bodyType}"><code>${example}</code></pre>`
      }
      <h4>Response</h4>
      ${Object.entries(operation.responses).map(([status, response]) => answer(status, response, context))}
      <h4>From a terminal</h4>
      <pre><code>${curl(operation, context.baseUrl, bodyType, example)}</code></pre>
    </div>
  </details>`;
}

/** Returns the credential that a call from the page needs: an API key, none, or one the page does not have. */
function accessOf({ tags, security }: Described): string {
  if (tags.includes('session')) return 'session';
  return security?.length === 0 ? 'public' : 'key';
}

/** Lets long paths break before each segment. */
function breakable(path: string): Html {
  return html`${path.split(/(?=[/:{])/).map((part) => html`<wbr />${part}`)}`;
}

function messageShown(schema: Schema, isRequest: boolean, { messages }: Context): Html {
  const named = resolved(schema, messages);
  if (!isRequest && schema.$ref !== undefined) return html`<p>${typeOf(schema)}</p>`;
  const isEmpty = Object.keys(named.properties ?? {}).length === 0;
  if (isEmpty) return html`<p>${named.description === undefined ? typeOf(named) : prose(named.description)}</p>`;
  return fieldsOf(named, isRequest);
}

function answer(status: string, response: Described['responses'][string], context: Context): Html {
  if (status === 'default') {
    return html`<p><code>4xx 5xx</code> Refused or failed: <a href="#message-ErrorStatus">ErrorStatus</a></p>`;
  }
  const [type, content] = Object.entries(response.content ?? {})[0] ?? [];
  return html`<p>
      <code>${status}</code> ${prose(response.description ?? '')}
      ${type !== undefined && html`<span class="type">${type}</span>`}
    </p>
    ${content && messageShown(content.schema, false, context)}`;
}

function exampleText({ schema, example }: { schema: Schema; example?: unknown }, type = '', context: Context): string {
  const value = example ?? exampleOf(schema, context.messages);
  if (type.includes('urlencoded')) return new URLSearchParams(value as Record<string, string>).toString();
  return type.includes('json') ? JSON.stringify(value, null, 2) : '';
}

/** Returns an example of a message with its required fields. */
function exampleOf(schema: Schema, messages: Context['messages']): unknown {
  const { enum: values, anyOf, type, properties = {}, required = [], ...rest } = resolved(schema, messages);
  if (rest.default !== undefined) return rest.default;
  if (values) return values[0];
  if (anyOf?.[0]) return exampleOf(anyOf[0], messages);
  const [kind] = [type ?? ''].flat();
  if (kind === 'string') return '…';
  if (kind === 'integer' || kind === 'number') return rest.minimum ?? 0;
  if (kind === 'boolean') return true;
  if (kind === 'array') return [];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {}, messages)]));
}

function resolved(schema: Schema, messages: Context['messages']): Schema {
  return (schema.$ref !== undefined && messages.get(schema.$ref.replace(/^.*\//, ''))) || schema;
}

function curl(operation: Described, baseUrl: string, type = '', example = ''): string {
  const { method, path } = operation;
  const access = { key: ` -H 'x-api-key: dmk_…'`, session: ` -b cookies.txt -H 'x-csrf-token: …'`, public: '' };
  const header = access[accessOf(operation) as keyof typeof access];
  const verb = method === 'delete' ? ' -X DELETE' : '';
  const isJson = type.includes('json');
  const data =
    method !== 'post' ? '' : isJson || type.includes('urlencoded') ? ` -d '${compact(example, isJson)}'` : ' -T file';
  const raw = data === ' -T file' ? ' -X POST' : '';
  return `curl${verb}${raw}${header} '${baseUrl}${path}'${data}`;
}

/** Puts JSON on one line and escapes single quotes, which would end the shell's quoting. */
function compact(example: string, isJson: boolean): string {
  return isJson ? JSON.stringify(JSON.parse(example)).replaceAll("'", String.raw`\u0027`) : example;
}

/** Returns the anchor of a message's description. */
export function messageAnchor(name: string): string {
  return `message-${name}`;
}

/** Renders a text of the document, with backticks as code. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, nth) => (nth % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Returns the type of a value in a few words; messages link to their description. */
export function typeOf(schema: Schema): Html {
  const { $ref, anyOf, items, type, format, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.replace(/^.*\//, '');
    return html`<a href="#${messageAnchor(name)}">${name}</a>`;
  }
  if (anyOf) return html`${anyOf.map((each, nth) => html`${nth > 0 && ' or '}${typeOf(each)}`)}`;
  if (items) return html`list of ${typeOf(items)}`;
  if (typeof additionalProperties === 'object') return html`map of ${typeOf(additionalProperties)}`;
  const names = [type ?? 'any'].flat().join(' or ');
  return html`${format === undefined ? names : `${names} (${format})`}`;
}

/** Shows the fields of a message, with those of unnamed messages beneath them. */
export function fieldsOf(schema: Schema, showsRequired = false): Html {
  const { properties = {}, required = [] } = schema;
  const rows = Object.entries(properties).map(([name, field]) =>
    row(name, field, { required: showsRequired && required.includes(name), depth: 0 }),
  );
  return html`<dl class="fields">${rows}</dl>`;
}

/** Shows one field or parameter. */
function row(name: string, field: Schema, { required = false, depth = 0, note = '' }): Html {
  const inner = field.items ?? field;
  const nested = depth < 4 ? Object.entries(inner.properties ?? {}) : [];
  return html`<dt>
      <code>${name}</code>
      <span class="type">${typeOf(field)}</span> ${note !== '' && html`<span class="type">${note}</span>`}
      ${required && html`<span class="required">required</span>`}
    </dt>
    <dd>
      ${field.description !== undefined && field.description !== '' && html`<p>${prose(field.description)}</p>`}
      ${limits(field)}
      ${
        nested.length > 0 &&
        html`<dl class="fields">${nested.map(([each, schema]) => row(each, schema, { depth: depth + 1 }))}</dl>`
      }
    </dd>`;
}

function limits({ enum: values, minimum, maximum, maxLength, default: unset }: Schema): Html | false {
  const parts = [
    values && html`One of ${values.map((value, nth) => html`${nth > 0 && ', '}<code>${shown(value)}</code>`)}.`,
    bounds(minimum, maximum),
    maxLength !== undefined && html`At most ${maxLength} characters.`,
    isTelling(unset) && html`Default <code>${shown(unset)}</code>.`,
  ].filter((part) => part !== false && part !== undefined);
  return parts.length > 0 && html`<p class="limits">${parts.map((part) => html`${part} `)}</p>`;
}

function shown(value: unknown): string {
  return value === '' ? '""' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** Bounds that only state the range of the integer type are omitted. */
function bounds(minimum = -(2 ** 31), maximum = 2 ** 31 - 1): Html | false {
  const [hasLeast, hasMost] = [minimum > -(2 ** 31), maximum < 2 ** 31 - 1];
  if (hasLeast && hasMost) return html`From ${minimum} to ${maximum}.`;
  return hasLeast ? html`At least ${minimum}.` : hasMost && html`At most ${maximum}.`;
}

function isTelling(value: unknown): boolean {
  return (
    value !== undefined && value !== '' && value !== 0 && value !== false && !Array.isArray(value) && !isEmpty(value)
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && (value === null || Object.keys(value).length === 0);
}
