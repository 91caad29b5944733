import { csrfField, hidden } from '../form.ts';
import { type Html, html } from '../html.ts';

/** The page that a form stands on: its address, what it was asked to show, and the session's token against forged forms. */
export interface FormPlace {
  here: string;
  query: URLSearchParams;
  csrf: string;
}

/**
 * A form of the page that asks, done by the page's `forms[name]`. With a script, what it leads to is put in the page's place
 * without a new page.
 */
export function panelForm(request: FormPlace, name: string, content: Html): Html {
  return html`<form method="post" action="${actionOf(request, name)}" data-swap>
    ${csrfField(request.csrf)}${content}
  </form>`;
}

/** Returns the address of a form, with the parameters of its page. */
export function actionOf(request: Pick<FormPlace, 'here' | 'query'>, name: string): string {
  return addressOf(request, `/${name}`);
}

/** The page that asks as it was asked for, but for what it says of a form; or a part of it. */
export function addressOf({ here, query }: Pick<FormPlace, 'here' | 'query'>, part = ''): string {
  const kept = new URLSearchParams(query);
  kept.delete('done');
  return `${here}${part}${kept.size === 0 ? '' : `?${kept.toString()}`}`;
}

/** A form that is one button. */
export function buttonForm(
  request: FormPlace,
  name: string,
  label: Html | string,
  { fields = {}, look = 'second' }: { fields?: Record<string, string>; look?: string } = {},
): Html {
  const filled = Object.entries(fields).map(([field, value]) => hidden(field, value));
  return panelForm(request, name, html`${filled}<button class="${look}" type="submit">${label}</button>`);
}
