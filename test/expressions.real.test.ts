import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import ts from 'typescript';
import { isHere } from './support/needs.ts';

const ROOT = join(import.meta.dirname, '..');
/** Input lengths, tried from the shortest: a cubic expression would not end at the longest. */
const LENGTHS = [128, 1_024, 8_192];
/** Four times the input takes a linear expression four times the steps, and a quadratic one sixteen times. */
const TIMES_LONGER = 4;
const MOST_GROWTH = 9;
/** Below this, measurements are imprecise, and the work is harmless. */
const LEAST_MICROS = 1_000;

interface Expression {
  at: string;
  regex: RegExp;
}

/** Returns every regular expression of the product with its place. */
function expressions(): Expression[] {
  const found: Expression[] = [];
  for (const folder of ['src', 'proxy', 'machines']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (!/\.[jt]s$/.test(name) || name.endsWith('api-types.ts')) continue;
      const path = `${folder}/${name}`;
      const file = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest);
      const visit = (node: ts.Node): void => {
        if (ts.isRegularExpressionLiteral(node)) {
          const [, source = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(node.text) ?? [];
          const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
          found.push({ at: `${path}:${line + 1}`, regex: new RegExp(source, flags.replaceAll(/[gy]/g, '')) });
        }
        ts.forEachChild(node, visit);
      };
      visit(file);
    }
  }
  return found;
}

const CANDIDATES = [' ', '\t', '\n', 'a', 'Z', '0', '.', '-', ':', '/', '\\', '"', '[', ',', 'é', '\u0001'];

/** Returns one matching character for each atom of an expression, in order. */
function samples({ source, flags }: RegExp): string[] {
  const atoms = source.match(
    /\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\.|\[(?:\\.|[^\]\\])*\]|[^\\[\]]/giu,
  );
  return (atoms ?? []).flatMap((atom) => {
    if (/^[()|?*+{}^$]$/.test(atom) || /^\\[bBk\d]$/.test(atom)) return [];
    const one = asRegex(`^(?:${atom})$`, flags);
    const sample = one && [atom.at(-1)!, ...CANDIDATES].find((each) => one.test(each));
    return sample === undefined ? [] : [sample];
  });
}

function asRegex(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

/** Yields strings that repeat a matching part, after a matching beginning and before an end that does not match. */
function* pumped(regex: RegExp): Generator<(length: number) => string> {
  const atoms = samples(regex).slice(0, 40);
  const parts = new Set<string>();
  for (let from = 0; from < atoms.length; from++)
    for (const size of [1, 2, 3]) parts.add(atoms.slice(from, from + size).join(''));
  const heads = new Set(['', ...atoms.map((_, to) => atoms.slice(0, to + 1).join(''))].slice(0, 24));
  for (const head of heads)
    for (const part of parts)
      for (const tail of ['\u0000', '']) yield (length) => head + part.repeat(Math.ceil(length / part.length)) + tail;
}

function cpuMicros(regex: RegExp, text: string): number {
  const before = process.threadCpuUsage();
  regex.exec(text);
  // The kernel splits the sum by ticks, so each part alone is imprecise.
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

/** Returns the least of a few measurements. Stops at the first below `LEAST_MICROS`. */
function least(count: number, measure: () => number): number {
  let found = Infinity;
  for (let n = 0; n < count && found >= LEAST_MICROS; n++) found = Math.min(found, measure());
  return found;
}

/** Returns the growth of the work for four times the input, or undefined if every string stays harmless. */
function growth({ regex }: Expression): number | undefined {
  for (const make of pumped(regex)) {
    const isSlow = (length: number) => {
      const text = make(length);
      return least(3, () => cpuMicros(regex, text)) >= LEAST_MICROS;
    };
    const length = LENGTHS.find(isSlow);
    if (length === undefined) continue;
    const [short, long] = [make(length), make(length * TIMES_LONGER)];
    const times = least(5, () => cpuMicros(regex, long)) / least(5, () => cpuMicros(regex, short));
    if (times > MOST_GROWTH) return times;
  }
  return undefined;
}

test.runIf(isHere('tools'))('no regular expression that reads input takes more than linear time', (t) => {
  t.timeout(300_000);
  const slow = expressions().flatMap((each) => {
    const times = growth(each);
    return times === undefined ? [] : [`${each.at} ${String(each.regex)} grows ${times.toFixed(1)} times`];
  });
  t.deepEqual(slow, []);
});
