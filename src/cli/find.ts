import { DORMOUSE } from './called.ts';
import { type Command, type Section, type Subject, isSubject } from './command.ts';
import { wrongUsage } from './errors.ts';
import { didYouMean, nearest } from './suggest.ts';

/** A command and its remaining words, or a subject without a command. */
export type Found = { command: Command; rest: string[] } | { subject: Subject };

/**
 * Finds the command named by the words. For a subject, the second word names it; if it names no command, it becomes the
 * argument of the subject's first command. Throws wrong usage for an unknown command.
 */
export function findCommand(sections: readonly Section[], name: string, rest: readonly string[]): Found {
  const entries = sections.flatMap(({ entries }) => entries);
  const entry = entries.find((each) => each.name === name);
  if (entry === undefined) throw unknown(name, entries);
  if (!isSubject(entry)) return { command: entry, rest: [...rest] };
  const at = firstWord(rest);
  const word = rest[at];
  const named = entry.commands.find((each) => each.name === `${name} ${word}`);
  if (named !== undefined) return { command: named, rest: rest.toSpliced(at, 1) };
  const [first] = entry.commands;
  const least = first?.args.filter((each) => each.startsWith('<')).length ?? 0;
  const isHelp = rest.includes('--help') || rest.includes('-h');
  if (first === undefined || (word === undefined && (least > 0 || isHelp))) return { subject: entry };
  const words = rest.slice(at).filter((each) => !each.startsWith('-')).length;
  // Too many words for the first command, so the second word was meant as a command.
  if (word !== undefined && words > first.args.length) throw unknownIn(entry, word);
  return { command: first, rest: [...rest] };
}

/** Finds the command or subject that help is requested for. */
export function findHelp(sections: readonly Section[], words: readonly string[]): Found {
  const [name = '', verb] = words;
  const found = sections.flatMap(({ entries }) => entries).find((each) => each.name === name);
  if (found === undefined || !isSubject(found)) return findCommand(sections, name, words.slice(1));
  if (verb === undefined) return { subject: found };
  const command = found.commands.find((each) => each.name === `${name} ${verb}`);
  if (command === undefined) throw unknownIn(found, verb);
  return { command, rest: [] };
}

/** Returns the second words of a subject's commands. */
export function verbsOf({ commands }: Subject): string[] {
  return commands.map(({ name }) => name.slice(name.indexOf(' ') + 1));
}

/**
 * The error for an unknown command. Suggests commands that have the word as their second: `backups restore` for
 * `restore`.
 */
function unknown(name: string, entries: readonly (Command | Subject)[]): Error {
  const near = nearest(
    name,
    entries.map((each) => each.name),
  );
  const within = entries.filter(isSubject).filter((subject) => verbsOf(subject).includes(name));
  const suggestions = [...within.map((subject) => `${subject.name} ${name}`), ...near].slice(0, 3);
  const said = [`There is no command ${JSON.stringify(name)}.`, didYouMean(suggestions), `See: ${DORMOUSE} --help`];
  return wrongUsage(said.filter((each) => each !== '').join(' '));
}

function unknownIn(subject: Subject, word: string): Error {
  const suggestions = nearest(word, verbsOf(subject)).map((verb) => `${subject.name} ${verb}`);
  const known = verbsOf(subject).join(', ');
  const said = suggestions.length > 0 ? didYouMean(suggestions) : `Available: ${known}.`;
  return wrongUsage(
    `There is no command ${JSON.stringify(`${subject.name} ${word}`)}. ${said} See: ${DORMOUSE} help ${subject.name}`,
  );
}

/** Returns the index of the first word after leading options. */
function firstWord(rest: readonly string[]): number {
  let at = 0;
  while (at < rest.length && rest[at]?.startsWith('-')) at += rest[at] === '--url' ? 2 : 1;
  return at;
}
