import { isSubject } from '../../src/cli/command.ts';
import { SECTIONS } from '../../src/cli/commands.ts';

/** Returns a page that lists every command of the command line. */
export function commandsPage(writtenBy: string): string {
  const parts = SECTIONS.map(({ title, entries }) => {
    const commands = entries.flatMap((entry) => (isSubject(entry) ? entry.commands : [entry]));
    const rows = commands.map(
      ({ usage, summary }) =>
        `| \`${usage.replaceAll('|', String.raw`\|`)}\` | ${summary.replaceAll(/[|<>*]/g, String.raw`\$&`)} |`,
    );
    return `## ${title}\n\n| command | what it does |\n| --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Every command

${writtenBy}

Each begins with \`npx dormouse\`. \`npx dormouse help backups\` shows a subject, \`npx dormouse help backups restore\` a command with its
options. The first command of a subject needs no name: \`npx dormouse backups castle\` lists them.

${parts.join('\n')}`;
}
