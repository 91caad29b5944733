import { packOf, properties, ramMb } from './settings.ts';
import { UNLISTED, softwareOf } from './versions.ts';
import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, command } from '../command.ts';
import { failedHere } from '../errors.ts';
import { memory, software } from '../format.ts';
import { firstLine } from '../input.ts';
import { SERVER, read } from '../shapes.ts';
import { oneLine } from '../text.ts';
import { readServer } from '../waiting.ts';
import { agree, askForEula } from './eula.ts';

const DEFAULT_RAM_MB = 1024;
/** The service's default core. */
const DEFAULT_CORE = 'sandbox';

/** `dormouse create`. */
export const createServer: Command = command({
  name: 'create',
  summary: 'Create a server. It sleeps, free of charge, until someone joins or you start it.',
  args: ['name'],
  options: {
    type: {
      type: 'string',
      value: 'core',
      help: "vanilla, paper, fabric, … (default: the built-in sandbox, or the mod pack's core).",
    },
    version: {
      type: 'string',
      value: 'version',
      help: `Minecraft version, such as 1.21.8, or latest (the default of a core). See: ${DORMOUSE} versions`,
    },
    unlisted: UNLISTED,
    ram: { type: 'string', value: 'size', help: `Memory: 512M, 2G, or a number of MB (default: ${DEFAULT_RAM_MB}).` },
    motd: { type: 'string', value: 'text', help: "The line in Minecraft's server list." },
    plan: { type: 'string', value: 'plan', help: 'metered (the default) or flat.' },
    region: { type: 'string', value: 'region', help: `Region. See: ${DORMOUSE} regions` },
    pack: { type: 'string', value: 'pack', help: 'A mod pack, with its loader and Minecraft version.' },
    'pack-platform': {
      type: 'string',
      value: 'registry',
      help: 'Source of the pack: modrinth (default), curseforge or ftb.',
    },
    'pack-version': { type: 'string', value: 'version', help: 'Version of the pack (default: the newest).' },
    property: { type: 'string', multiple: true, value: 'k=v', help: 'A line of server.properties.' },
    'accept-eula': {
      type: 'boolean',
      help: "You agree to Minecraft's EULA (https://aka.ms/MinecraftEULA) for all your servers.",
    },
  },
  details: `Example: ${DORMOUSE} create "My Server" --type paper --version 1.21.8 --ram 2G --property difficulty=hard`,
  async run(context, [name = ''], values) {
    const { type, version, ram, motd, plan, region, property, unlisted, 'accept-eula': agrees } = values;
    const pack = packOf(values);
    const { api, json, document, terminal } = context;
    const { out } = terminal;
    const body = {
      name,
      ramMb: ram === undefined ? DEFAULT_RAM_MB : ramMb(ram),
      ...(pack === undefined
        ? await chosen(api, { type, version }, unlisted)
        : { ...pack, ...(type !== undefined && { type }), ...(version !== undefined && { version }) }),
      ...(plan !== undefined && { plan }),
      ...(region !== undefined && { region }),
      ...(motd === undefined ? {} : { motd }),
      ...(property === undefined ? {} : { properties: properties(property) }),
    };
    if (agrees) await agree(context);
    const reply = await done(api.POST('/v1/servers', { body }));
    if (json) return document(reply);
    const server = read(SERVER, reply);
    out.line(`Created ${out.style('bold', server.id)}: ${software(server)}, ${memory(server.ramMb)}.`);
    if (server.state === 'installing')
      out.line(`It is being installed. Watch it with: ${DORMOUSE} machine ${server.id}`);
    else out.line(`Join ${out.style('bold', server.addr)}, or wake it with: ${DORMOUSE} start ${server.id} --wait`);
    const [host = ''] = server.addr.split(':', 1);
    if (host.endsWith('.localhost'))
      out.line(`If Minecraft shows “Unknown host”, add the line 127.0.0.1 ${host} to your hosts file.`);
    await askForEula(context, server);
  },
});

/** Undefined without a choice, which leaves it to the service. */
async function chosen(
  api: Api,
  { type, version }: { type: string | undefined; version: string | undefined },
  unlisted?: boolean,
): Promise<{ type?: string; version?: string }> {
  if (type === undefined && version === undefined) return {};
  return softwareOf(api, { type: type ?? DEFAULT_CORE, version }, unlisted);
}

/** `dormouse delete`. */
export const deleteServer: Command = command({
  name: 'delete',
  summary: 'Permanently delete a server with its world, backups and settings.',
  args: ['id'],
  options: { yes: { type: 'boolean', short: 'y', help: 'Do not ask for confirmation.' } },
  async run({ api, json, document, terminal, input, signal }, [id = ''], { yes }) {
    if (!yes) {
      const { server } = await readServer(api, id);
      terminal.err.line(`This permanently deletes ${oneLine(server.name) || id} with its world, backups and settings.`);
      terminal.err.write(`Type its id (${id}) to confirm: `);
      const answer = await firstLine(input, signal);
      if (!input.isTTY) terminal.err.line('');
      if (answer.trim() !== id)
        throw failedHere('NOT_CONFIRMED', 'The server was not deleted: the id did not match.', { server: id });
    }
    const reply = await done(api.DELETE('/v1/servers/{id}', { params: { path: { id } } }));
    if (json) return document(reply);
    terminal.out.line(`Deleted ${id}.`);
  },
});
