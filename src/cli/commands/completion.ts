import { DORMOUSE } from '../called.ts';
import { type Command, type Section, type Subject, command, isSubject } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { verbsOf } from '../find.ts';
import { GLOBAL_OPTIONS } from '../parse.ts';

/** `dormouse completion`, for the existing commands. */
export function completion(sections: readonly Section[]): Command {
  return command({
    usage: 'completion <bash|zsh|fish>',
    summary: 'Print a completion script for your shell.',
    details: `Completes the word dormouse. If your shell does not find that program, define an alias.

bash, in ~/.bashrc:                source <(${DORMOUSE} completion bash)
zsh, in ~/.zshrc after compinit:   source <(${DORMOUSE} completion zsh)
fish: ${DORMOUSE} completion fish > ~/.config/fish/completions/dormouse.fish`,
    run({ json, document, terminal: { out } }, [shell = '']) {
      if (!Object.hasOwn(SCRIPTS, shell)) throw wrongUsage('The shell must be bash, zsh or fish.');
      const script = SCRIPTS[shell as keyof typeof SCRIPTS](sections.flatMap(({ entries }) => entries));
      if (json) return document({ script });
      out.line(script);
    },
  });
}

type Entry = Command | Subject;
type Script = (entries: readonly Entry[]) => string;

const SCRIPTS = { bash: posixScript, zsh: zshScript, fish: fishScript } satisfies Record<string, Script>;

/** Completes from a word list, chosen by the command (the second word), and for a subject by the third word. */
function posixScript(entries: readonly Entry[]): string {
  const commands = entries.flatMap((entry) => (isSubject(entry) ? entry.commands : [entry]));
  const cases = commands.map((each) => `    '${each.name} '*) words='${optionsOf(each).join(' ')}' ;;`);
  const verbs = entries.filter(isSubject).map((each) => `    ${each.name}) words='${verbsOf(each).join(' ')}' ;;`);
  return `_dormouse() {
  local words='${[...entries.map(({ name }) => name), 'help', ...globals(), '--version'].join(' ')}'
  local command="\${COMP_WORDS[1]} \${COMP_WORDS[2]} "
  if [ "$COMP_CWORD" -eq 2 ]; then command="\${COMP_WORDS[1]} "; fi
  if [ "$COMP_CWORD" -gt 1 ]; then case "$command" in
${cases.join('\n')}
  esac; fi
  if [ "$COMP_CWORD" -eq 2 ]; then case "\${COMP_WORDS[1]}" in
${verbs.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _dormouse dormouse`;
}

/** zsh can load bash's completions. */
function zshScript(entries: readonly Entry[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${posixScript(entries)}`;
}

function fishScript(entries: readonly Entry[]): string {
  return [
    'complete -c dormouse -f',
    ...entries.flatMap((entry) => [
      `complete -c dormouse -n __fish_use_subcommand -a ${entry.name} -d ${quoted(entry.summary)}`,
      ...(isSubject(entry) ? fishVerbs(entry) : fishOptions(entry, `__fish_seen_subcommand_from ${entry.name}`)),
    ]),
    ...Object.entries(GLOBAL_OPTIONS).map(
      ([option, { help }]) => `complete -c dormouse -l ${option} -d ${quoted(help)}`,
    ),
  ].join('\n');
}

function fishVerbs(subject: Subject): string[] {
  const within = `__fish_seen_subcommand_from ${subject.name}`;
  const verbs = verbsOf(subject);
  return subject.commands.flatMap((each, index) => [
    `complete -c dormouse -n '${within}; and not __fish_seen_subcommand_from ${verbs.join(' ')}' -a ${verbs[index]} -d ${quoted(each.summary)}`,
    ...fishOptions(each, `${within}; and __fish_seen_subcommand_from ${verbs[index]}`),
  ]);
}

function fishOptions({ options = {} }: Command, condition: string): string[] {
  return Object.entries(options).map(
    ([option, { short, help }]) =>
      `complete -c dormouse -n '${condition}'${short ? ` -s ${short}` : ''} -l ${option} -d ${quoted(help)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function globals(): string[] {
  return Object.keys(GLOBAL_OPTIONS).map((name) => `--${name}`);
}

function optionsOf({ options = {} }: Command): string[] {
  return [...Object.keys(options).map((name) => `--${name}`), ...globals()];
}
