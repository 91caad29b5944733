import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../support/service.ts';

/** The address of the pages, and the folder with the credentials of the first run. */
type Pages = Pick<Service, 'baseUrl' | 'dataDir'>;

/** The page behind a sign-in link, and the result of the answer. */
export interface Decided {
  /** The text of the page with the question. */
  question: string;
  /** The path of the page after the answer. */
  to: string;
}

/** The credentials read so far. The first sign-in removes the password from the file. */
const operators = new WeakMap<Pages, { email: string; password: string }>();

/** Opens a sign-in link as the operator, like a browser without scripts: signs in and answers the question. */
export async function decide(service: Pages, link: string, decision: 'approve' | 'deny'): Promise<Decided> {
  const { email, password } = operators.get(service) ?? (await readOperator(service));
  const path = link.slice(new URL(link).origin.length);
  const cookies = new Map<string, string>();

  async function go(to: string, form?: Record<string, string>): Promise<{ text: string; path: string }> {
    const response = await fetch(`${service.baseUrl}${to}`, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) return go(location);
    return { text: await response.text(), path: to };
  }

  const signIn = await go(path);
  const asking = await go('/sign-in', { ...hiddenOf(signIn.text, '/sign-in'), email, password });
  const answered = await go('/device', { ...hiddenOf(asking.text, '/device'), decision });
  return { question: asking.text.replace(/\s+/g, ' '), to: answered.path };
}

async function readOperator(service: Pages): Promise<{ email: string; password: string }> {
  const file = await readFile(join(service.dataDir, 'first-run.json'), 'utf8');
  const operator = JSON.parse(file) as { email: string; password: string };
  operators.set(service, operator);
  return operator;
}

/** Returns the hidden fields of a page's form. */
function hiddenOf(page: string, action: string): Record<string, string> {
  const form = page.slice(page.indexOf(`action="${action}"`)).split('</form>', 1)[0] ?? '';
  const fields = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
