import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Need } from '../support/needs.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A fenced block of a page, or commands beside it that readers do not see: `<!-- run: … -->`. */
export interface Part {
  kind: 'fence' | 'run';
  /** Of a fence: what stands behind its backquotes. */
  language: string;
  text: string;
  /** Of its first line in the page. */
  line: number;
  /** Under which the reader saves it: `<!-- file: x.mjs -->` before a fence. */
  file?: string;
  /** Without which it cannot be run: `<!-- needs: caddy -->` before it. */
  needs?: Need;
}

/** README.md and all of docs, by their paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
];

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

const PART =
  /^(?<indent> *)```(?<language>\w*)\n(?<body>[^]*?)^ *```$|^ *<!-- (?<comment>run|file|needs):\s+(?<said>[^]*?)\s+-->$/gm;

/** The parts of a page, in order. A fence within a list is moved to the left as far as its first line goes. */
export function partsOf(text: string): Part[] {
  let beside: Pick<Part, 'file' | 'needs'> = {};
  return [...text.matchAll(PART)].flatMap(({ index, groups = {} }) => {
    const { indent, language = '', body = '', comment, said = '' } = groups;
    if (comment === 'file' || comment === 'needs') {
      beside = { ...beside, [comment]: said };
      return [];
    }
    const line = text.slice(0, index).split('\n').length;
    const whole = comment ? said : body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const part: Part = { kind: comment ? 'run' : 'fence', language, text: whole, line, ...beside };
    beside = {};
    return [part];
  });
}
