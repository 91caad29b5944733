import { type Html, html } from '../html.ts';
import type { PanelRequest } from './panel.ts';

/** The values of a form. For the form that failed: the submitted values and the problems of its fields. */
export interface Filling {
  /** The form's name on its page, a prefix of its fields' ids. */
  form: string;
  value(field: string, otherwise: string): string;
  /** For a checkbox, which is not sent if unchecked. */
  has(field: string, otherwise: boolean): boolean;
  wrong(field: string): string | undefined;
}

export function filling({ failed, sent, problem }: PanelRequest, form: string): Filling {
  const typed = failed === form ? sent : undefined;
  const wrong = typed && problem?.wrong;
  return {
    form,
    value: (field, otherwise) => typed?.get(field) ?? otherwise,
    has: (field, otherwise) => typed?.has(field) ?? otherwise,
    wrong: (field) => wrong?.[field],
  };
}

/** Returns the values of one of several similar forms, identified by their hidden fields. `item` is part of the ids. */
export function fillingOf(request: PanelRequest, form: string, fields: Record<string, string>, item: string): Filling {
  const isThis = Object.entries(fields).every(([name, value]) => request.sent?.get(name) === value);
  return { ...filling(isThis ? request : { ...request, failed: undefined }, form), form: `${form}-${item}` };
}

interface Labelled {
  name: string;
  label: string | Html;
  hint?: string | Html | undefined;
  /** The initial value. */
  value?: string;
}

interface Line extends Labelled {
  maxlength: number;
  type?: 'text' | 'email' | 'number' | 'url' | 'time' | 'date';
  /** Default: true. */
  required?: boolean;
  /** Additional attributes. */
  more?: Html;
}

/** A text field of one line. */
export function lineField(filled: Filling, { name, value = '', maxlength, type = 'text', more, ...rest }: Line): Html {
  const { required = true } = rest;
  return field(
    filled,
    { name, ...rest },
    (attributes) =>
      html`<input
        ${attributes}
        type="${type}"
        value="${filled.value(name, value)}"
        ${type !== 'number' && type !== 'date' && html`maxlength="${maxlength}"`}
        autocomplete="off"
        ${required && html`required`}
        ${more}
      />`,
  );
}

/** A text field of several lines. */
export function linesField(
  filled: Filling,
  { name, value = '', maxlength, rows, ...rest }: Labelled & { maxlength: number; rows: number },
): Html {
  return field(
    filled,
    { name, ...rest },
    // HTML drops a line break directly after the tag (HTML §13.1.2.5).
    (attributes) =>
      html`<textarea ${attributes} rows="${rows}" maxlength="${maxlength}" spellcheck="false">
${filled.value(name, value)}</textarea>`,
  );
}

/** A drop-down list. */
export function choiceField(
  filled: Filling,
  { name, value = '', options, ...rest }: Labelled & { options: readonly (readonly [value: string, text: string])[] },
): Html {
  const chosen = filled.value(name, value);
  return field(
    filled,
    { name, ...rest },
    (attributes) =>
      html`<select ${attributes}>
        ${options.map(
          ([each, text]) => html`<option value="${each}" ${each === chosen && html`selected`}>${text}</option>`,
        )}
      </select>`,
  );
}

/** A choice among few options, each with a sentence. */
export function radioField(
  filled: Filling,
  {
    name,
    value = '',
    label,
    options,
  }: Labelled & { options: readonly (readonly [value: string, text: string | Html])[] },
): Html {
  const chosen = filled.value(name, value);
  const wrong = filled.wrong(name);
  return html`<fieldset>
    <legend>${label}</legend>
    ${wrong !== undefined && html`<p class="wrong">${wrong}</p>`}
    ${options.map(
      ([each, text]) =>
        html`<label class="tick"
          ><input type="radio" name="${name}" value="${each}" ${each === chosen && html`checked`} /><span
            >${text}</span
          ></label
        >`,
    )}
  </fieldset>`;
}

/** A checkbox. */
export function tickField(
  filled: Filling,
  {
    name,
    label,
    hint,
    on,
    required = false,
  }: { name: string; label: string | Html; hint?: string; on: boolean; required?: boolean },
): Html {
  return html`<label class="tick"
    ><input
      type="checkbox"
      name="${name}"
      value="true"
      ${filled.has(name, on) && html`checked`}
      ${required && html`required`}
    /><span>${label}${hint !== undefined && html`<small>${hint}</small>`}</span></label
  >`;
}

/** Wraps a control with its label, hint and problem, connected by ids. */
function field(filled: Filling, { name, label, hint }: Labelled, control: (attributes: Html) => Html): Html {
  const id = `${filled.form}-${name}`;
  const wrong = filled.wrong(name);
  const described = [hint !== undefined && `${id}-hint`, wrong !== undefined && `${id}-wrong`]
    .filter(Boolean)
    .join(' ');
  return html`<div class="field">
    <label for="${id}">${label}</label>
    ${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${wrong !== undefined && html`<p class="wrong" id="${id}-wrong">${wrong}</p>`}
    ${control(
      html`id="${id}" name="${name}" ${described !== '' && html`aria-describedby="${described}"`}
      ${wrong !== undefined && html`aria-invalid="true"`}`,
    )}
  </div>`;
}
