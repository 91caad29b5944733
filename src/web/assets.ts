import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Router } from '@koa/router';
import { keep } from '../http/kept-bytes.ts';

/** A file used by pages. Its name changes with its content, so browsers may cache it forever. */
interface Asset {
  path: string;
  type: string;
  content: Buffer;
}

/** Our own files, in `assets/`, and unchanged files of packages. */
const FILES = {
  style: ['style.css'],
  logo: ['dormouse.svg'],
  live: ['live.js'],
  panelStyle: ['panel.css'],
  panelScript: ['panel.js'],
  palette: ['palette.js'],
  paletteStyle: ['palette.css'],
  billStyle: ['bill.css'],
  billScript: ['bill.js'],
  settingsStyle: ['settings.css'],
  preview: ['preview.js'],
  iconScript: ['icon-picture.js', 'icon.js'],
  dropScript: ['icon-picture.js', 'drop.js'],
  statechartStyle: ['chart.css'],
  listsStyle: ['lists.css'],
  serversStyle: ['charts.css', 'lists.css'],
  listsScript: ['lists.js'],
  machinesStyle: ['lists.css', 'machines.css'],
  machinesScript: ['machines.js'],
  consoleStyle: ['console.css'],
  consoleScript: ['log-line.js', 'console.js'],
  schedulesScript: ['schedules.js'],
  filesStyle: ['files.css'],
  filesScript: ['files.js'],
  editorStyle: ['editor.css'],
  editorScript: ['editor.js'],
  docsStyle: ['docs.css'],
  docsScript: ['docs.js'],
  prism: [
    'prismjs/components/prism-core.min.js',
    'prismjs/components/prism-properties.min.js',
    'prismjs/components/prism-yaml.min.js',
    'prismjs/components/prism-json.min.js',
    'prismjs/components/prism-toml.min.js',
  ],
  idiomorph: ['idiomorph/dist/idiomorph.min.js'],
  uplot: ['uplot/dist/uPlot.iife.min.js'],
  chartsStyle: ['uplot/dist/uPlot.min.css', 'charts.css'],
  chartsScript: ['charts.js'],
} as const satisfies Record<string, readonly string[]>;

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const packages = createRequire(import.meta.url);
const made = Object.entries(FILES).map(([name, files]) => [name, assetOf(files)] as const);

/** Addresses of the assets on pages: `ASSETS.style`. */
export const ASSETS = Object.fromEntries(made.map(([name, { path }]) => [name, path])) as Readonly<
  Record<keyof typeof FILES, string>
>;

export function mountAssets(router: Router): void {
  for (const [, { path, type, content }] of made) {
    const kept = keep(content, { type, compress: true });
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
      ctx.set('X-Content-Type-Options', 'nosniff');
      return kept.send(ctx);
    });
  }
}

/** Joins files into one asset. */
function assetOf(files: readonly string[]): Asset {
  const content = Buffer.concat(files.map(contentOf));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const [last = ''] = files.slice(-1);
  const [name = '', ending = ''] = last.slice(last.lastIndexOf('/') + 1).split(/\.(?=\w+$)/);
  return { path: `/assets/${name}.${hash}.${ending}`, type: TYPES[ending] ?? '', content };
}

/** Reads a file. A name with a `/` belongs to a package. Our style sheets lose their comments and most blanks. */
function contentOf(file: string): Buffer {
  if (file.includes('/')) return readFileSync(packages.resolve(file));
  const content = readFileSync(join(import.meta.dirname, 'assets', file));
  if (!file.endsWith('.css')) return content;
  const [beginning = '', ...parts] = content.toString().split('/*');
  const withoutComments = [beginning, ...parts.map((part) => part.slice(part.indexOf('*/') + 2))].join('');
  const plain = withoutComments.replaceAll(/\n\s*/g, '\n').replaceAll(/([{};])\s+/g, '$1');
  return Buffer.from(plain.replaceAll(/\s([{}])/g, '$1'));
}
