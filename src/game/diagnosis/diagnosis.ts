import type { Failure } from '../../../machines/server-types.ts';
import type { Exit } from '../../engines/engine.ts';
import { KIB } from '../../kernel/units.ts';
import { job } from '../../kernel/workers/job.ts';
import { DEPENDENCY_RULES } from './dependencies.ts';
import { TRACE_LINES, exitFindings, lastException, unknownFinding } from './exit.ts';
import { INSTALL_RULES } from './install.ts';
import { LAUNCH_RULES } from './launch.ts';
import { type GameLine, MAX_LINE_CHARS, readGameLine, spoken } from './line.ts';
import { MACHINE_RULES } from './machine.ts';
import { MOD_RULES } from './mods.ts';
import { PLUGIN_RULES } from './plugins.ts';
import type { DiagnosisContext, Finding, Rule, Weight } from './rule.ts';
import { WORLD_RULES } from './world.ts';

export type { DiagnosisContext } from './rule.ts';

/** One finding in a log. */
export interface Insight {
  code: string;
  /** The mod, plugin, file or version concerned; empty without one. */
  subject: string;
  /** `Title: detail`. */
  summary: string;
  suggestion: string;
  /** Log lines that show it, at most {@link MAX_EVIDENCE}; empty if only the exit shows it. */
  evidence: string[];
}

/** The reason of a failure, and all findings. */
export type Diagnosis = Failure & { insights: Insight[] };

export interface DiagnosisInput {
  lines: readonly string[];
  exit: Exit | null;
  context: DiagnosisContext;
  report: readonly string[];
}

/** Number of lines read: the newest of the log, the first of a report. */
const MAX_LINES = 2_000;
/** Limit for log and report each; a line counts for at most {@link MAX_LINE_CHARS}. */
const MAX_CHARS = 1_000_000;
/** Number of characters of one log that a rule reads. A log with more of its needles was crafted to cost time. */
const MAX_CHARS_OF_RULE = 128 * KIB;
const MAX_EVIDENCE = 5;
const MAX_INSIGHTS = 20;
const MAX_RAW_BYTES = 4_096;
/**
 * Short enough that the decisive line and those before it fit in {@link MAX_RAW_BYTES}, regardless of their characters.
 */
const MAX_SHOWN_LINE_CHARS = 400;
/** Number of lines shown before the decisive one. */
const RAW_LINES_BEFORE = 2;

const RULES: readonly Rule[] = [
  ...DEPENDENCY_RULES,
  ...MOD_RULES,
  ...PLUGIN_RULES,
  ...LAUNCH_RULES,
  ...MACHINE_RULES,
  ...WORLD_RULES,
  ...INSTALL_RULES,
];

/** Among findings of equal weight, the first in this list becomes the failure: earlier ones cause later ones. */
const PRECEDENCE = [
  'eula_not_accepted',
  'wrong_java_version',
  'missing_jar',
  'broken_jar',
  'read_only_disk',
  'disk_full',
  'missing_dependency',
  'plugin_missing_dependency',
  'client_only_mod',
  'incompatible_mods',
  'wrong_minecraft_version',
  'broken_datapack',
  'out_of_memory',
  'world_locked',
  'permission_denied',
  'bad_config',
  'port_in_use',
  'world_newer_version',
  'world_migration',
  'world_corrupt',
  'watchdog',
  'modpack_manual_download',
  'download_failed',
  'auth_servers_down',
  'java_crashed',
];

/** A finding with its lines. */
interface Found {
  finding: Finding;
  at: number[];
}

/**
 * Diagnoses why a game ended or an installation failed, in terms an owner can act on: from the newest 2 000 lines of
 * the log, the exit of the process, and the game's crash report. `insights` has all findings, the most important first,
 * which is the failure. Without a finding the code is `unknown` and `raw` has the last lines. Never throws. Time is
 * linear in the size of the log (at most a million characters are read) and bounded for each rule.
 */
export function diagnose(
  lines: readonly string[],
  exit: Exit | null,
  context: DiagnosisContext,
  report: readonly string[] = [],
): Diagnosis {
  // The report comes first, so that the log's end stays last if no rule matches.
  const newest = withinChars(lines.slice(-MAX_LINES).toReversed()).toReversed();
  const log = [...withinChars(report.slice(0, MAX_LINES)), ...newest].map(readGameLine);
  const { certain, likely } = exitFindings(log, exit, context);
  const found = [...scan(log, context)].sort(byPrecedence);
  const of = (weight: Weight) => found.filter(({ finding }) => weightOf(finding) === weight);
  const causes = [...certain.map(fromExit), ...of('cause'), ...likely.map(fromExit)];
  const all = [...(causes.length > 0 ? causes : of('vague')), ...of('warning')];
  if (all.length === 0) all.push(fromExit(unknownFinding(log, exit, context)));
  const insights = unique(all)
    .slice(0, MAX_INSIGHTS)
    .map((each) => insightOf(each, log));
  const [first] = insights as [Insight];
  return {
    code: first.code,
    summary: first.summary,
    suggestion: first.suggestion,
    raw: excerpt(log, all[0]?.at[0]),
    insights,
  };
}

/** One error in a log. */
export interface LoggedError {
  /** Its message and stack trace. */
  lines: string[];
  /** Findings, the most important first; empty if none is known. */
  insights: Insight[];
  /** The jar of the mod or plugin in its stack trace, nearest to the cause; '' without one. */
  jar: string;
}

/**
 * Explains the error that a log's line `at` begins. Reads at most {@link TRACE_LINES} lines, in time linear in their
 * size.
 */
export function explainError(lines: readonly string[], at: number, context: DiagnosisContext): LoggedError {
  // The message of an exception may be the line above it.
  const from = at > 0 && readGameLine(lines[at] ?? '').source === 'plain' ? at - 1 : at;
  const shown = lines.slice(from, from + TRACE_LINES).map(readGameLine);
  const next = shown.findIndex(({ source }, index) => from + index > at && source !== 'plain');
  const log = shown.slice(0, next < 0 ? undefined : next);
  const insights = unique([...scan(log, context)].sort(byPrecedence)).map((each) => insightOf(each, log));
  return { lines: log.map(({ plain }) => plain), insights, jar: lastException(log).jar };
}

/** `explainError`, for a worker. */
export const explainErrorJob = job(
  import.meta.url,
  'explainErrorJob',
  ({ lines, at, context }: { lines: readonly string[]; at: number; context: DiagnosisContext }) =>
    explainError(lines, at, context),
);

/** `diagnose`, for a worker. */
export const diagnoseJob = job(import.meta.url, 'diagnoseJob', ({ lines, exit, context, report }: DiagnosisInput) =>
  diagnose(lines, exit, context, report),
);

/** Returns as many of the first lines as fit. */
function withinChars(lines: readonly string[]): readonly string[] {
  let left = MAX_CHARS;
  const end = lines.findIndex((line) => (left -= Math.min(line.length, MAX_LINE_CHARS)) < 0);
  return end < 0 ? lines : lines.slice(0, end);
}

function holdsNeedle(text: string, { needle }: Rule): boolean {
  return typeof needle === 'string' ? text.includes(needle) : needle.some((each) => text.includes(each));
}

/** Yields all findings in the log's order, one per code and subject. */
function scan(log: readonly GameLine[], context: DiagnosisContext): Iterable<Found> {
  const found = new Map<string, Found>();
  const read = new Map<Rule, number>();
  for (const [index, line] of log.entries()) {
    if (line.text === '' || spoken(line)) continue;
    for (const rule of RULES) {
      if (!holdsNeedle(line.text, rule)) continue;
      const chars = (read.get(rule) ?? 0) + line.text.length;
      if (chars > MAX_CHARS_OF_RULE) continue;
      read.set(rule, chars);
      const groups = rule.pattern.exec(line.text);
      // Chat is logged at INFO, after the player's name, so at that level only matches from the start of a message
      // count.
      if (!groups || (line.level === 'INFO' && groups.index > 0)) continue;
      const findings = rule.find(groups, { line, index, lines: log, context }) ?? [];
      for (const finding of Array.isArray(findings) ? findings : [findings]) note(found, finding, index);
    }
  }
  return found.values();
}

function note(found: Map<string, Found>, finding: Finding, index: number): void {
  const key = `${weightOf(finding)} ${finding.code} ${finding.subject}`;
  const known = found.get(key);
  if (!known) found.set(key, { finding, at: [index] });
  else if (known.at.length < MAX_EVIDENCE && known.at.at(-1) !== index) known.at.push(index);
}

function weightOf(finding: Finding): Weight {
  return finding.weight ?? 'cause';
}

function fromExit(finding: Finding): Found {
  return { finding, at: [] };
}

function byPrecedence(one: Found, other: Found): number {
  return PRECEDENCE.indexOf(one.finding.code) - PRECEDENCE.indexOf(other.finding.code);
}

/** Removes findings covered by an earlier one: the same code and subject, or the same code without a subject. */
function unique(all: readonly Found[]): Found[] {
  const said = new Set<string>();
  return all.filter(({ finding: { code, subject } }) => {
    const key = `${code} ${subject}`;
    if (said.has(key) || (subject === '' && said.has(code))) return false;
    said.add(key).add(code);
    return true;
  });
}

function insightOf({ finding, at }: Found, log: readonly GameLine[]): Insight {
  return {
    code: finding.code,
    subject: finding.subject,
    summary: `${finding.title}: ${finding.detail}`,
    suggestion: finding.suggestion,
    evidence: at.map((index) => (log[index]?.plain ?? '').slice(0, MAX_SHOWN_LINE_CHARS).toWellFormed()),
  };
}

/** Returns the lines from shortly before `index`, or the last lines, as many as fit. */
function excerpt(log: readonly GameLine[], index: number | undefined): string {
  const lines = log.map((line) => line.plain.slice(0, MAX_SHOWN_LINE_CHARS).toWellFormed());
  if (index === undefined) return takeBytes(lines.toReversed()).toReversed().join('\n');
  return takeBytes(lines.slice(Math.max(0, index - RAW_LINES_BEFORE))).join('\n');
}

function takeBytes(lines: readonly string[]): string[] {
  const taken: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_RAW_BYTES) break;
    taken.push(line);
  }
  return taken;
}
