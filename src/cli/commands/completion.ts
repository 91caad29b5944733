import { type Command, command } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { GLOBAL_OPTIONS } from '../parse.ts';

/** `dormouse completion`, for the commands there are. */
export function completion(commands: readonly Command[]): Command {
  return command({
    name: 'completion',
    summary: 'Print a script that completes commands and options in your shell.',
    args: ['bash|zsh|fish'],
    details: `bash: source <(dormouse completion bash)            in ~/.bashrc
zsh:  source <(dormouse completion zsh)             in ~/.zshrc, after compinit
fish: dormouse completion fish > ~/.config/fish/completions/dormouse.fish`,
    run({ json, document, terminal: { out } }, [shell = '']) {
      if (!Object.hasOwn(SCRIPTS, shell)) throw wrongUsage('The shell must be bash, zsh or fish.');
      const script = SCRIPTS[shell as keyof typeof SCRIPTS](commands);
      if (json) return document({ script });
      out.line(script);
    },
  });
}

type Script = (commands: readonly Command[]) => string;

const SCRIPTS = { bash: posixScript, zsh: zshScript, fish: fishScript } satisfies Record<string, Script>;

/** Completes from a word list, chosen by the second word, the command. */
function posixScript(commands: readonly Command[]): string {
  const cases = commands.map((each) => `    ${each.name}) words='${optionsOf(each).join(' ')}' ;;`);
  return `_dormouse() {
  local words='${[...names(commands), ...globals(), '--version'].join(' ')}'
  if [ "$COMP_CWORD" -gt 1 ]; then case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _dormouse dormouse`;
}

/** zsh can load bash's completions. */
function zshScript(commands: readonly Command[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${posixScript(commands)}`;
}

function fishScript(commands: readonly Command[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  return [
    'complete -c dormouse -f',
    ...commands.flatMap(({ name, summary, options = {} }) => [
      `complete -c dormouse -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...Object.entries(options).map(
        ([option, { short, help }]) =>
          `complete -c dormouse -n '__fish_seen_subcommand_from ${name}'${short ? ` -s ${short}` : ''} -l ${option} -d ${quoted(help)}`,
      ),
    ]),
    ...Object.entries(GLOBAL_OPTIONS).map(
      ([option, { help }]) => `complete -c dormouse -l ${option} -d ${quoted(help)}`,
    ),
  ].join('\n');
}

function names(commands: readonly Command[]): string[] {
  return commands.map(({ name }) => name);
}

function globals(): string[] {
  return Object.keys(GLOBAL_OPTIONS).map((name) => `--${name}`);
}

function optionsOf({ options = {} }: Command): string[] {
  return [...Object.keys(options).map((name) => `--${name}`), ...globals()];
}
