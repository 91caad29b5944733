import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { VERSIONS, read } from '../shapes.ts';
import { columns } from '../table.ts';
import { oneLine } from '../text.ts';

/** `dormouse versions`. */
export const versions: Command = command({
  name: 'versions',
  summary: 'List the versions of Minecraft, newest first.',
  async run({ api, json, document, terminal: { out } }) {
    const reply = await done(api.GET('/v1/minecraft/versions'));
    if (json) return document(reply);
    const { versions, latest } = read(VERSIONS, reply);
    const names = versions.map((version) => oneLine(version));
    // One per line for programs, as `ls` does.
    for (const line of out.isTerminal ? columns(names, out.columns) : names) out.line(line);
    if (out.isTerminal) out.line(`\nLatest: ${out.style('bold', oneLine(latest))}`);
  },
});
