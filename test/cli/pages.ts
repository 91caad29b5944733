import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../support/service.ts';

/** Where the pages are, and the first run's file while nobody has signed in. */
type Pages = Pick<Service, 'baseUrl' | 'dataDir'>;

/** What somebody saw who opened the link of a sign-in, and where their answer led. */
export interface Decided {
  /** Text of the page that asks. */
  question: string;
  /** Path of the page that came after it. */
  to: string;
}

/** The file is gone once its owner has signed in. */
const operators = new WeakMap<Pages, { email: string; password: string }>();

/** The operator signs in at the pages, as a browser without scripts would, and answers what the link asks. */
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

/** The hidden fields of a page's form. */
function hiddenOf(page: string, action: string): Record<string, string> {
  const form = page.slice(page.indexOf(`action="${action}"`)).split('</form>', 1)[0] ?? '';
  const fields = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
