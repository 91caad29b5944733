import { csrfField, hidden } from '../form.ts';
import { type Html, html } from '../html.ts';

/** A form's page: its address with parameters, and the session's token against forged forms. */
export interface FormPlace {
  here: string;
  query: URLSearchParams;
  csrf: string;
}

/**
 * A form handled by `forms[name]` of its page. With a script, the result replaces the page's content without a reload.
 */
export function panelForm(request: FormPlace, name: string, content: Html): Html {
  return html`<form method="post" action="${actionOf(request, name)}" data-swap>
    ${csrfField(request.csrf)}${content}
  </form>`;
}

/** Returns the address of a form, including the parameters of its page. */
export function actionOf(request: FormPlace, name: string): string {
  return addressOf(request, `/${name}`);
}

/** Returns the address of the current page, or of a part of it, without the message of an earlier form. */
export function addressOf({ here, query }: Omit<FormPlace, 'csrf'>, part = ''): string {
  const kept = new URLSearchParams(query);
  kept.delete('done');
  return `${here}${part}${kept.size === 0 ? '' : `?${kept.toString()}`}`;
}

/** A form that consists of one button. */
export function buttonForm(
  request: FormPlace,
  name: string,
  label: Html | string,
  { fields = {}, variant = 'second' }: { fields?: Record<string, string>; variant?: string } = {},
): Html {
  const filled = Object.entries(fields).map(([field, value]) => hidden(field, value));
  return panelForm(request, name, html`${filled}<button class="${variant}" type="submit">${label}</button>`);
}
