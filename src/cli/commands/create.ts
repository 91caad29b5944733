import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { agree, askForEula } from './eula.ts';
import { wrongUsage } from '../errors.ts';
import { memory, software } from '../format.ts';
import { SERVER, read } from '../shapes.ts';

const DEFAULT_RAM_MB = 1024;
const MOST_RAM_MB = 2 ** 31 - 1;

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
      help: 'Minecraft version, for example 1.21.8; see: npx dormouse versions',
    },
    ram: { type: 'string', value: 'size', help: `Memory: 512M, 2G, or a number of MB (${DEFAULT_RAM_MB}).` },
    motd: { type: 'string', value: 'text', help: 'The line in the server list of the game.' },
    property: { type: 'string', multiple: true, value: 'k=v', help: 'A line of server.properties.' },
    'accept-eula': {
      type: 'boolean',
      help: "You agree to Minecraft's EULA (https://aka.ms/MinecraftEULA) for all your servers.",
    },
  },
  details: 'Example: npx dormouse create "My Server" --type paper --version 1.21.8 --ram 2G --property difficulty=hard',
  async run(context, [name = ''], { type, version, ram, motd, property, 'accept-eula': agrees }) {
    const { api, json, document, terminal } = context;
    const { out } = terminal;
    const body = {
      name,
      ramMb: ram === undefined ? DEFAULT_RAM_MB : ramMb(ram),
      ...(type === undefined ? {} : { type }),
      ...(version === undefined ? {} : { version }),
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

function ramMb(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([mg]?)(?:i?b)?$/i.exec(text) ?? [];
  const size = Math.round(Number(number) * (unit.toLowerCase() === 'g' ? 1024 : 1));
  if (number === '' || size < 1 || size > MOST_RAM_MB) throw wrongUsage('--ram must be like 512M, 2G or 2048 (MB).');
  return size;
}

function properties(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw wrongUsage(`--property must be like difficulty=hard, not ${JSON.stringify(line)}.`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
