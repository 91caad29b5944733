import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Subject, YES, call, command, flag, on, option } from '../command.ts';
import { failedHere } from '../errors.ts';
import { listing, memory, software } from '../format.ts';
import { given } from '../parse.ts';
import { type Messages, SERVER, read } from '../shapes.ts';
import { firstLine } from '../terminal.ts';
import { oneLine } from '../text.ts';
import { readServer } from '../waiting.ts';
import { packOf, properties, ramMb } from './settings.ts';
import { UNLISTED, softwareOf } from './versions.ts';
import { agree, askForEula } from './you.ts';

const DEFAULT_RAM_MB = 1024;
/** The service's default core. */
const DEFAULT_CORE = 'sandbox';

/** `dormouse create`. */
export const createServer: Command = command({
  usage: 'create <name>',
  summary: 'Create a server. It sleeps, free of charge, until someone joins or you start it.',
  options: {
    type: option('core', "vanilla, paper, fabric, … (default: the built-in sandbox, or the mod pack's core)."),
    version: option(
      'version',
      `Minecraft version, such as 1.21.8, or latest (the default of a core). See: ${DORMOUSE} versions`,
    ),
    unlisted: UNLISTED,
    ram: option('size', `Memory: 512M, 2G, or a number of MB (default: ${DEFAULT_RAM_MB}).`),
    motd: option('text', "The line in Minecraft's server list."),
    plan: option('plan', 'metered (the default) or flat.'),
    region: option('region', `Region. See: ${DORMOUSE} regions`),
    pack: option('pack', 'A mod pack, with its loader and Minecraft version.'),
    'pack-platform': option('registry', 'Source of the pack: modrinth (default), curseforge or ftb.'),
    'pack-version': option('version', 'Version of the pack (default: the newest).'),
    property: { type: 'string', multiple: true, value: 'k=v', help: 'A line of server.properties.' },
    'accept-eula': flag("You agree to Minecraft's EULA (https://aka.ms/MinecraftEULA) for all your servers."),
  },
  details: `Example: ${DORMOUSE} create "My Server" --type paper --version 1.21.8 --ram 2G --property difficulty=hard`,
  async run(context, [name = ''], values) {
    const { type, version, ram, motd, plan, region, property, unlisted, 'accept-eula': agrees } = values;
    const pack = packOf(values.pack, values['pack-platform'], values['pack-version']);
    const { api, json, document, terminal } = context;
    const { out } = terminal;
    // A pack, and the service without a choice, decide the software themselves.
    const isOpen = pack !== undefined || (type === undefined && version === undefined);
    const body = {
      name,
      ramMb: ram === undefined ? DEFAULT_RAM_MB : ramMb(ram),
      ...(isOpen
        ? { ...pack, ...given({ type, version }) }
        : await softwareOf(api, type ?? DEFAULT_CORE, version, unlisted)),
      ...given({ plan, region, motd, properties: property && properties(property) }),
    };
    if (agrees) await done(agree(api));
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

/** `dormouse delete`. */
export const deleteServer: Command = command({
  usage: 'delete <id>',
  summary: 'Permanently delete a server with its world, backups and settings.',
  options: { yes: YES },
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
    const reply = await done(api.DELETE('/v1/servers/{id}', on(id)));
    if (json) return document(reply);
    terminal.out.line(`Deleted ${id}.`);
  },
});

const TEMPLATE = { id: '', name: '', description: '', serverType: '', version: '', ramMb: 0 } satisfies Partial<
  Messages['Template']
>;

/** `dormouse templates`. */
export const templates: Subject = {
  name: 'templates',
  summary: 'Templates for new servers: list, create, use, delete.',
  commands: [
    call({
      usage: 'templates list',
      summary: 'List the built-in templates, then your own.',
      call: ({ api }) => api.GET('/v1/templates'),
      shape: { templates: [TEMPLATE] },
      show: ({ templates }, { out }) =>
        listing(out, templates, 'No templates.', {
          ID: ({ id }) => id,
          NAME: ({ name }) => name,
          SOFTWARE: ({ serverType, version }) => software({ type: serverType, version }),
          MEMORY: ({ ramMb }) => memory(ramMb),
          '': ({ description }) => description,
        }),
    }),
    call({
      usage: 'templates create <id> <name>',
      summary: 'Create a template from a server: its settings, without its world and files.',
      options: { description: option('text', 'A description.') },
      call: ({ api }, [serverId = '', name = ''], { description = '' }) =>
        api.POST('/v1/templates', { body: { serverId, name, description } }),
      shape: TEMPLATE,
      show: ({ id, name }) => [
        `Created the template ${name}. Use it with: ${DORMOUSE} templates use ${id} "My Server"`,
      ],
    }),
    call({
      usage: 'templates use <template> <name>',
      summary: 'Create a server from a template.',
      options: {
        ram: option('size', "Memory, such as 512M or 2G (default: the template's)."),
        version: option('version', "Minecraft version (default: the template's)."),
        plan: option('plan', "metered or flat (default: the template's plan)."),
        region: option('region', `Region. See: ${DORMOUSE} regions`),
      },
      call({ api }, [templateId = '', name = ''], { ram, version = '', plan = '', region = '' }) {
        const overrides = { version, plan, region, ...(ram !== undefined && { ramMb: ramMb(ram) }) };
        const params = { path: { templateId } };
        return api.POST('/v1/templates/{templateId}:createServer', { params, body: { name, overrides } });
      },
      shape: SERVER,
      show: ({ id, addr, ...rest }) => [
        `Created ${id}: ${software(rest)}, ${memory(rest.ramMb)}.`,
        `Join ${addr}, or wake it with: ${DORMOUSE} start ${id} --wait`,
      ],
      after: askForEula,
    }),
    call({
      usage: 'templates delete <template>',
      summary: 'Delete one of your templates. Servers created from it do not change.',
      call: ({ api }, [templateId = '']) =>
        api.POST('/v1/templates/{templateId}:delete', { params: { path: { templateId } }, body: {} }),
      show: (_, { args: [template] }) => [`Deleted the template ${template}.`],
    }),
  ],
};
