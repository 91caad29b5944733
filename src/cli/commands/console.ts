import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, command } from '../command.ts';
import { COMMAND, read } from '../shapes.ts';
import { consoleText } from '../text.ts';

/** `dormouse command`. */
export const consoleCommand: Command = command({
  name: 'command',
  summary: 'Run a console command on a server that is awake.',
  args: ['id', 'console command…'],
  details: `Everything after the id goes to the console as written, but for the options below, unless they
come after --.

Examples: ${DORMOUSE} command lobby say Hello there
          ${DORMOUSE} command lobby tp Steve -10 64 -3`,
  async run({ api, json, document, terminal: { out } }, [id = '', ...words]) {
    const body = { command: words.join(' ') };
    const reply = await done(api.POST('/v1/servers/{id}:command', { params: { path: { id } }, body }));
    if (json) return document(reply);
    const text = consoleText(read(COMMAND, reply).output).trimEnd();
    if (text !== '') out.line(text);
  },
});
