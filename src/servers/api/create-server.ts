import { type Operation, operation } from '../../http/operation.ts';
import { CreateServerRequest, type Creation } from '../creation.ts';
import { PROPERTIES_BYTES } from './fields.ts';
import { Server } from './messages.ts';
import type { ServerView } from './view.ts';

/** Dependencies of these operations. */
interface Needs {
  creation: Creation;
  serverView: ServerView;
}

const createServer = ({ creation, serverView }: Needs) =>
  operation({
    id: 'CreateServer',
    method: 'post',
    path: '/v1/servers',
    scope: 'servers:write',
    tag: 'control',
    summary: 'Create a server',
    description:
      'Creates a server without starting it. It costs nothing until it starts. With a mod pack, the pack is ' +
      'installed first: this needs as much free capacity as a start, and consent to the EULA (`AcceptEula`). Then ' +
      'start the server, or join it.',
    bodyLimitBytes: PROPERTIES_BYTES,
    body: CreateServerRequest,
    example: { name: 'My Server', ramMb: 2048, type: 'paper', version: '1.21.8', properties: { difficulty: 'hard' } },
    reply: Server,
    run: async ({ body, principal }) => serverView(await creation.create(principal, body)),
  });

/** The operation that creates a server. */
export const createOperations = (needs: Needs): readonly Operation[] => [createServer(needs)];
