import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { CreateServerRequest, type Creation } from '../creation.ts';
import { PROPERTIES_BYTES } from './fields.ts';
import { Server } from './messages.ts';
import type { ServerView } from './view.ts';

/** Dependencies of these operations. */
interface Needs {
  creation: Creation;
  serverView: ServerView;
}

export const CreateServer = operation({
  id: 'CreateServer',
  method: 'post',
  path: '/v1/servers',
  scope: 'servers:write',
  auth: 'key',
  section: 'Servers',
  summary: 'Create a server',
  description:
    'Creates a server without starting it. It costs nothing until it starts. With a mod pack, the pack is ' +
    'installed first: this needs as much free capacity as a start, and consent to the EULA (`AcceptEula`). Then ' +
    'start the server, or join it.',
  bodyLimitBytes: PROPERTIES_BYTES,
  body: CreateServerRequest,
  example: { name: 'My Server', ramMb: 2048, type: 'paper', version: '1.21.8', properties: { difficulty: 'hard' } },
  reply: Server,
});

/** The operation that creates a server. */
export const createOperations = ({ creation, serverView }: Needs): readonly Served[] => [
  serve(CreateServer, async ({ body, principal }) => serverView(await creation.create(principal, body))),
];
