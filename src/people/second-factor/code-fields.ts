import { textField } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Problem, invalid } from '../../web/problem.ts';
import type { Form } from '../../web/serve.ts';
import { CODE_CHARS } from './second-factor.ts';

/** The field for an app's code. Phones show a numeric keyboard. */
export function codeField(problem: Problem | undefined, required = true): Html {
  return textField({
    name: 'code',
    label: 'Code',
    hint: 'The six digits that your app shows now.',
    maxlength: CODE_CHARS,
    autocomplete: 'one-time-code',
    problem,
    required,
    more: html`class="code" inputmode="numeric" spellcheck="false"`,
  });
}

/** A field for an app's code, with one for a recovery code below. */
export function anyCodeField(problem: Problem | undefined): Html {
  return html`${codeField(problem, false)}
    <details ${problem?.field === 'recovery' && html`open`}>
      <summary>Use a recovery code instead</summary>
      ${textField({
        name: 'recovery',
        label: 'Recovery code',
        hint: 'One of the codes you saved during setup, such as k7m2x-9qwrt. Each works once.',
        maxlength: CODE_CHARS,
        autocomplete: 'off',
        problem,
        required: false,
        more: html`autocapitalize="none" spellcheck="false"`,
      })}
    </details>`;
}

/** Returns the value of either field; '' without one. */
export function codeIn(form: Form): string {
  return form.get('recovery')?.trim() || (form.get('code')?.trim() ?? '');
}

/** The problem if neither field is filled in. */
export const NO_CODE = invalid('code', 'Enter the code that your app shows, or a recovery code.');
