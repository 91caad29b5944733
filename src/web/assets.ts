import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Router } from '@koa/router';

/** A file that pages refer to. Its name changes with its content, so browsers may keep it for good. */
interface Asset {
  path: string;
  type: string;
  content: Buffer;
}

const style = asset('style.css', 'text/css; charset=utf-8');
const logo = asset('dormouse.svg', 'image/svg+xml');
const machinesStyle = asset('machines.css', 'text/css; charset=utf-8');
const machinesScript = asset('machines.js', 'text/javascript; charset=utf-8');
const docsStyle = asset('docs.css', 'text/css; charset=utf-8');
const docsScript = asset('docs.js', 'text/javascript; charset=utf-8');

/** Where pages find the stylesheet, the picture of the sleeping dormouse, and what only some pages have. */
export const ASSETS = {
  style: style.path,
  logo: logo.path,
  machinesStyle: machinesStyle.path,
  machinesScript: machinesScript.path,
  docsStyle: docsStyle.path,
  docsScript: docsScript.path,
};

export function mountAssets(router: Router): void {
  for (const { path, type, content } of [style, logo, machinesStyle, machinesScript, docsStyle, docsScript]) {
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      ctx.set('X-Content-Type-Options', 'nosniff');
      ctx.type = type;
      ctx.body = content;
    });
  }
}

function asset(name: string, type: string): Asset {
  const content = readFileSync(join(import.meta.dirname, 'assets', name));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  return { path: `/assets/${name.replace('.', `.${hash}.`)}`, type, content };
}
