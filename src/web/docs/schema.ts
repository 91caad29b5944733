import { type Html, html } from '../html.ts';
import type { Schema } from './described.ts';

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
export function row(name: string, field: Schema, { required = false, depth = 0, note = '' }): Html {
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
