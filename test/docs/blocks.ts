import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Need } from '../support/needs.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A fenced block of a page, or hidden commands: `<!-- run: … -->`. */
export interface Part {
  kind: 'fence' | 'run';
  /** The language of a fence, after its backquotes. */
  language: string;
  text: string;
  /** The line number of its beginning in the page. */
  line: number;
  /** The name of the file in which readers save it: `<!-- file: x.mjs -->` before a fence. */
  file?: string;
  /** A requirement for running it: `<!-- needs: caddy -->` before it. */
  needs?: Need;
}

/** The paths of README.md and all pages of docs, relative to the root. */
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

/** Returns the parts of a page, in order. The indentation of a fence within a list is removed. */
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
