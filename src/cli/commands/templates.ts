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
  summary: 'Servers made like others.',
  commands: [
    call({
      name: 'templates list',
      summary: 'List the built-in ones, then your own.',
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
        return listing(terminal.out, ['ID', 'NAME', 'SOFTWARE', 'MEMORY', ''], rows, 'There are no templates.');
      },
    }),
    call({
      name: 'templates create',
      summary: 'Make a template of a server: its settings, not its world nor its files.',
      args: ['id', 'name'],
      options: { description: { type: 'string', value: 'text', help: 'What it is for.' } },
      call: ({ api }, [serverId = '', name = ''], { description = '' }) =>
        api.POST('/v1/templates', { body: { serverId, name, description } }),
      shape: TEMPLATE,
      show: ({ id, name }) => [`Made the template ${name}. Use it with: ${DORMOUSE} templates use ${id} "My Server"`],
    }),
    call({
      name: 'templates use',
      summary: 'Create a server by a template.',
      args: ['template', 'name'],
      options: {
        ram: { type: 'string', value: 'size', help: 'Other memory: 512M, 2G.' },
        version: { type: 'string', value: 'version', help: 'Another Minecraft version.' },
        plan: { type: 'string', value: 'plan', help: 'Another plan: metered or flat.' },
        region: { type: 'string', value: 'region', help: `Where it is; see: ${DORMOUSE} regions` },
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
      summary: 'Delete one of your own. Servers made by it stay as they are.',
      args: ['template'],
      call: ({ api }, [templateId = '']) =>
        api.POST('/v1/templates/{templateId}:delete', { params: { path: { templateId } }, body: {} }),
      shape: {},
      show: (_, { args: [template] }) => [`Deleted the template ${template}.`],
    }),
  ],
};
