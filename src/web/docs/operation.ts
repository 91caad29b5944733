import { type Html, html } from '../html.ts';
import type { Described, Schema } from './described.ts';
import { fieldsOf, prose, row, typeOf } from './schema.ts';

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
