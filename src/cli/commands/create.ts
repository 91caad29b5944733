import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { agree, askForEula } from './eula.ts';
import { memory, software } from '../format.ts';
import { properties, ramMb } from '../server-options.ts';
import { SERVER, read } from '../shapes.ts';
import { UNLISTED, softwareOf } from '../software-choice.ts';

const DEFAULT_RAM_MB = 1024;

/** `dormouse create`. */
export const createServer: Command = command({
  name: 'create',
  summary: 'Create a server. It sleeps, and costs nothing, until it is started or joined.',
  args: ['name'],
  options: {
    type: { type: 'string', value: 'core', help: 'vanilla, paper, fabric, …; by default the built-in sandbox.' },
    version: {
      type: 'string',
      value: 'version',
      help: 'Minecraft version, for example 1.21.8, or latest (the default of a core); see: npx dormouse versions',
    },
    unlisted: UNLISTED,
    ram: { type: 'string', value: 'size', help: `Memory: 512M, 2G, or a number of MB (${DEFAULT_RAM_MB}).` },
    motd: { type: 'string', value: 'text', help: 'The line in the server list of the game.' },
    property: { type: 'string', multiple: true, value: 'k=v', help: 'A line of server.properties.' },
    'accept-eula': {
      type: 'boolean',
      help: "You agree to Minecraft's EULA (https://aka.ms/MinecraftEULA) for all your servers.",
    },
  },
  details: 'Example: npx dormouse create "My Server" --type paper --version 1.21.8 --ram 2G --property difficulty=hard',
  async run(context, [name = ''], { type, version, ram, motd, property, unlisted, 'accept-eula': agrees }) {
    const { api, json, document, terminal } = context;
    const { out } = terminal;
    const body = {
      name,
      ramMb: ram === undefined ? DEFAULT_RAM_MB : ramMb(ram),
      ...(type === undefined
        ? { ...(version !== undefined && { version }) }
        : await softwareOf(api, { type, version }, unlisted)),
      ...(motd === undefined ? {} : { motd }),
      ...(property === undefined ? {} : { properties: properties(property) }),
    };
    if (agrees) await agree(context);
    const reply = await done(api.POST('/v1/servers', { body }));
    if (json) return document(reply);
    const server = read(SERVER, reply);
    out.line(`Created ${out.style('bold', server.id)}: ${software(server)}, ${memory(server.ramMb)}.`);
    if (server.state === 'installing')
      out.line(`It is being installed. Watch it with: npx dormouse machine ${server.id}`);
    else out.line(`Join ${out.style('bold', server.addr)}, or wake it with: npx dormouse start ${server.id} --wait`);
    if (server.type !== 'sandbox') await askForEula(context);
  },
});
