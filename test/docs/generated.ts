/**
 * Generates the pages that are written from the code. `node test/docs/generated.ts` writes them, and a test checks that
 * they are current.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceGrantMachine } from '../../machines/device-grant.ts';
import { serverMachine } from '../../machines/server.ts';
import { settingGroups } from '../../src/settings-help.ts';
import { commandsPage } from './commands-page.ts';
import { type ChartState, readChart } from '../../src/web/statechart/statechart.ts';

/** The folder of the pages. */
export const DOCS = join(import.meta.dirname, '../../docs');

/** The content of each page by its name, formatted except for the width of columns. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'commands.md': () => commandsPage(WRITTEN_BY),
  'settings.md': settingsPage,
  'states.md': statesPage,
};

const WRITTEN_BY = '<!-- Written by `npm run docs`: change the code instead. -->';

function settingsPage(): string {
  const groups = settingGroups().map(({ heading, settings }) => {
    const rows = settings.map(({ name, fallback, help, kind: { description } }) => {
      const about = description === undefined ? '' : ` _(${description})_`;
      return `| \`${name}\` | ${fallback && `\`${fallback}\``} | ${cell(help + about)} |`;
    });
    return `## ${heading}\n\n| setting | default | what it means |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Every setting

${WRITTEN_BY}

A setting is an environment variable, or a line of the file \`.env\` in Dormouse's folder. The environment takes precedence, and an empty
value means the default. \`npm start -- --help\` prints this list. \`npm start -- --settings\` prints the current settings with secrets
masked. An invalid value, or a misspelled name of a setting, stops the start with an explanation. A secret can be in its own file, as
Docker and systemd provide them: \`STRIPE_SECRET_KEY_FILE=/run/secrets/stripe\` instead of \`STRIPE_SECRET_KEY\`. This works for every
password, key, token and URL that \`--settings\` masks.

${groups.join('\n')}`;
}

function cell(text: string): string {
  return text.replaceAll(/[|<>*]/g, String.raw`\$&`);
}

function statesPage(): string {
  return `# The states of a server, and of a device grant

${WRITTEN_BY}

Each server is one state machine. The arrows that leave a state show the events that it handles. A command without an arrow is refused
with the reason, or accepted without effect if the server is already in the wanted state. Other events are ignored. \`DELETE\` leads to
\`deleting\` from every state, even without an arrow. Words in brackets are conditions: the first one that holds decides. The same chart,
with the current state highlighted and the causes of the last fifty transitions, is on a server's page under _Audit_ and at
\`GET /v1/servers/{id}/machine\`.

The API has fewer state names than the machine. All states within \`stopping\` are \`stopping\` in the API. \`maintaining\`, in which a
backup is restored or a world is changed, is \`hibernated\`, and a start waits until it ends.

## A server

\`\`\`mermaid
${mermaid(serverMachine.definition)}
\`\`\`

## A device grant

\`\`\`mermaid
${mermaid(deviceGrantMachine.definition)}
\`\`\`
`;
}

/** Converts a chart to Mermaid. States are named by their paths, and transitions are arrows. */
function mermaid(definition: object): string {
  const root = readChart(JSON.parse(JSON.stringify(definition)));
  const lines: string[] = ['stateDiagram-v2'];
  const paths = new Map<string, string>();
  const learn = (state: ChartState): void => {
    paths.set(state.id, named(state.path));
    state.states.forEach(learn);
  };
  learn(root);
  const draw = (state: ChartState, indent: string): void => {
    for (const below of state.states) {
      const name = named(below.path);
      if (name !== below.name) lines.push(`${indent}state "${below.name}" as ${name}`);
      if (below.initial) lines.push(`${indent}[*] --> ${name}`);
      if (below.states.length === 0) continue;
      lines.push(`${indent}state ${name} {`);
      draw(below, `${indent}  `);
      lines.push(`${indent}}`);
    }
  };
  const connect = (state: ChartState): void => {
    const from = named(state.path);
    if (state.path !== '') {
      for (const { events, target } of state.exits) {
        lines.push(`  ${from} --> ${paths.get(target) ?? target}: ${events.join('<br/>')}`);
      }
      if (state.again.length > 0) lines.push(`  ${from} --> ${from}: ${state.again.join('<br/>')}`);
      if (state.final) lines.push(`  ${from} --> [*]`);
    }
    state.states.forEach(connect);
  };
  draw(root, '  ');
  connect(root);
  return lines.join('\n');
}

function named(path: string): string {
  return path.replaceAll('.', '_');
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, page] of Object.entries(GENERATED)) writeFileSync(join(DOCS, name), page());
}
