import { ramMb } from './settings.ts';
import { call } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Subject } from '../command.ts';
import { askForEula } from './eula.ts';
import { memory, software } from '../format.ts';
import { type Messages, SERVER } from '../shapes.ts';
import { listing } from '../table.ts';

const TEMPLATE = { id: '', name: '', description: '', serverType: '', version: '', ramMb: 0 } satisfies Partial<
  Messages['Template']
>;

/** `dormouse templates`. */
export const templates: Subject = {
  name: 'templates',
  summary: 'Templates for new servers: list, create, use, delete.',
  commands: [
    call({
      name: 'templates list',
      summary: 'List the built-in templates, then your own.',
      call: ({ api }) => api.GET('/v1/templates'),
      shape: { templates: [TEMPLATE] },
      show({ templates }, { context: { terminal } }) {
        const rows = templates.map(({ id, name, serverType, version, ramMb, description }) => [
          id,
          name,
          software({ type: serverType, version }),
          memory(ramMb),
          description,
        ]);
        return listing(terminal.out, ['ID', 'NAME', 'SOFTWARE', 'MEMORY', ''], rows, 'No templates.');
      },
    }),
    call({
      name: 'templates create',
      summary: 'Create a template from a server: its settings, without its world and files.',
      args: ['id', 'name'],
      options: { description: { type: 'string', value: 'text', help: 'A description.' } },
      call: ({ api }, [serverId = '', name = ''], { description = '' }) =>
        api.POST('/v1/templates', { body: { serverId, name, description } }),
      shape: TEMPLATE,
      show: ({ id, name }) => [
        `Created the template ${name}. Use it with: ${DORMOUSE} templates use ${id} "My Server"`,
      ],
    }),
    call({
      name: 'templates use',
      summary: 'Create a server from a template.',
      args: ['template', 'name'],
      options: {
        ram: { type: 'string', value: 'size', help: "Memory, such as 512M or 2G (default: the template's)." },
        version: { type: 'string', value: 'version', help: "Minecraft version (default: the template's)." },
        plan: { type: 'string', value: 'plan', help: "metered or flat (default: the template's plan)." },
        region: { type: 'string', value: 'region', help: `Region. See: ${DORMOUSE} regions` },
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
      name: 'templates delete',
      summary: 'Delete one of your templates. Servers created from it do not change.',
      args: ['template'],
      call: ({ api }, [templateId = '']) =>
        api.POST('/v1/templates/{templateId}:delete', { params: { path: { templateId } }, body: {} }),
      shape: {},
      show: (_, { args: [template] }) => [`Deleted the template ${template}.`],
    }),
  ],
};
