import * as z from 'zod';
import { line, message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import { auditActorOf } from '../audit/audit.ts';
import { causeOf } from '../access/caller.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { Worlds } from './worlds.ts';
import type { Shared } from '../servers/shared.ts';

const ServerWorld = z
  .object({
    name: reply.text.describe('The name of its folder. The folders of its Nether and End belong to it.'),
    active: reply.flag.describe('The next start loads this world (`level-name`), and creates it if it is empty.'),
    loaded: reply.flag.describe('The running game has it open.'),
    sizeBytes: reply.int64,
  })
  .meta({ id: 'ServerWorld' });

export const ServerWorldList = z.object({ worlds: z.array(ServerWorld).default([]) }).meta({ id: 'ServerWorldList' });

const named = message({ name: line(255).min(1, 'is required') });
const COMMON = {
  auth: 'key',
  role: 'member',
  section: 'Worlds',
  params: ServerParams,
  reply: ServerWorldList,
} as const;

export const ListServerWorlds = operation({
  ...COMMON,
  id: 'ListServerWorlds',
  expensive: true,
  method: 'get',
  path: '/v1/servers/{id}/worlds',
  scope: 'servers:read',
  role: 'limited',
  summary: 'List worlds',
  description: "The folders with a `level.dat` in the server's root folder, sorted by name.",
});

export const SetActiveWorld = operation({
  ...COMMON,
  id: 'SetActiveWorld',
  method: 'post',
  path: '/v1/servers/{id}/worlds:setActive',
  scope: 'servers:write',
  summary: 'Choose the world',
  description: 'Sets the property `level-name`. A running game keeps its current world until its next start.',
  precondition: 'the world must exist, and no other operation may be running on the server.',
  body: named,
  example: { name: 'world' },
});

export const DeleteServerWorld = operation({
  ...COMMON,
  id: 'DeleteServerWorld',
  method: 'post',
  path: '/v1/servers/{id}/worlds:delete',
  scope: 'servers:write',
  summary: 'Delete a world',
  description: 'Deletes it permanently with its Nether and End. Not the active world while the server is awake.',
  precondition: 'the world must not be the active one of an awake server.',
  body: named,
  example: { name: 'world' },
});

export const ResetServerWorld = operation({
  ...COMMON,
  id: 'ResetServerWorld',
  method: 'post',
  path: '/v1/servers/{id}/worlds:reset',
  scope: 'servers:write',
  summary: 'Reset the world',
  description:
    'Backs up the server, then deletes the active world with its Nether and End. The next start creates a new ' +
    'one. A running server is stopped first and started again. Returns when it is done. If it fails, nothing ' +
    'changes.',
  precondition:
    '`level-name` must be a plain folder name, and the server must not be `installing` or `install_failed`.',
  example: {},
});

export const worldOperations = ({ serveServer }: Shared, worlds: Worlds): readonly Served[] => [
  serveServer(ListServerWorlds, async ({ params }) => listOf(params.id, worlds)),
  serveServer(SetActiveWorld, async ({ params, body, principal }) => {
    await worlds.setActive(params.id, body.name, by(principal));
    return await listOf(params.id, worlds);
  }),
  serveServer(DeleteServerWorld, async ({ params, body, principal, signal }) => {
    await worlds.remove(params.id, body.name, by(principal), signal);
    return await listOf(params.id, worlds);
  }),
  serveServer(ResetServerWorld, async ({ params, principal, signal }) => {
    await worlds.reset(params.id, by(principal), signal);
    return await listOf(params.id, worlds);
  }),
];

export function by(principal: Principal) {
  return { actor: auditActorOf(principal), cause: causeOf(principal) };
}

export async function listOf(id: string, worlds: Worlds) {
  return { worlds: await worlds.list(id) };
}
