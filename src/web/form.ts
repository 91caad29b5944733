import { type Html, html } from './html.ts';
import type { Problem } from './problem.ts';

/** Attributes of a field whose text is no prose, such as a name or a code. */
export const NO_PROSE = html`autocapitalize="none" spellcheck="false"`;

/** The token against forged forms. Required in every form. */
export function csrfField(csrf: string): Html {
  return hidden('csrf', csrf);
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`;
}

/** A field of one line. */
interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password';
  /** An HTML autofill name (https://html.spec.whatwg.org/#autofill), for password managers. */
  autocomplete?: string;
  value?: string;
  hint?: string;
  maxlength: number;
  minlength?: number;
  problem: Problem | undefined;
  /** Default: true. */
  required?: boolean;
  /** Additional attributes. */
  more?: Html;
}

export function textField({
  name,
  label,
  type = 'text',
  value = '',
  hint,
  problem,
  required = true,
  ...rest
}: Field): Html {
  const wrong = problem?.field === name ? problem : undefined;
  const described = [hint && `${name}-hint`, wrong && `${name}-problem`].filter(Boolean).join(' ');
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${wrong && html`<p class="wrong" id="${name}-problem">${wrong.message}</p>`}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      maxlength="${rest.maxlength}"
      ${required && html`required`}
      ${rest.minlength !== undefined && html`minlength="${rest.minlength}"`}
      ${rest.autocomplete !== undefined && html`autocomplete="${rest.autocomplete}"`}
      ${described !== '' && html`aria-describedby="${described}"`}
      ${wrong && html`aria-invalid="true" autofocus`}
      ${rest.more}
    />
  </div>`;
}

/** Returns the problem of the form as a whole; undefined if a field shows it. */
export function problemNote(problem: Problem | undefined): Html | undefined {
  if (!problem || problem.field !== undefined) return undefined;
  return html`<p class="note bad" role="alert">${problem.message}</p>`;
}

/** Shows a success message. A script shows it over the page, and lets it leave. */
export function doneNote(message: string | undefined): Html | undefined {
  return message === undefined ? undefined : html`<p class="note good" role="status" data-toast>${message}</p>`;
}

/**
 * A button that asks for confirmation, without a script, before an irreversible action. `what` distinguishes it for
 * screen readers. `open`: already confirmed, but the form failed.
 */
export function confirmed(question: string | Html, ask: string, what: string | Html, form: Html, open = false): Html {
  return html`<details class="confirm" ${open && html`open`}>
    <summary>${ask}<span class="unseen"> ${what}</span></summary>
    <div>
      <p>${question}</p>
      ${form}
    </div>
  </details>`;
}
