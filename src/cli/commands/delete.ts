import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { failed } from '../errors.ts';
import { firstLine } from '../input.ts';
import { oneLine } from '../text.ts';
import { readServer } from '../waiting.ts';

/** `dormouse delete`. */
export const deleteServer: Command = command({
  name: 'delete',
  summary: 'Delete a server for good: its world, backups and settings.',
  args: ['id'],
  options: { yes: { type: 'boolean', short: 'y', help: 'Do not ask.' } },
  async run({ api, json, document, terminal, input, signal }, [id = ''], { yes }) {
    if (!yes) {
      const { server } = await readServer(api, id);
      terminal.err.line(`This deletes ${oneLine(server.name) || id} for good: its world, backups and settings.`);
      terminal.err.write(`Type its id (${id}) to go on: `);
      const answer = await firstLine(input, signal);
      if (!input.isTTY) terminal.err.line('');
      if (answer.trim() !== id)
        throw failed('NOT_CONFIRMED', 'Nothing was deleted: that was not its id.', { server: id });
    }
    const reply = await done(api.DELETE('/v1/servers/{id}', { params: { path: { id } } }));
    if (json) return document(reply);
    terminal.out.line(`Deleted ${id}.`);
  },
});
