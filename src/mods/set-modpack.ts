import { SANDBOX } from '../game/cores.ts';
import { isTagged } from '../../machines/server.ts';
import { EngineError } from '../engines/engine.ts';
import { modpackEnv } from '../game/modpack-env.ts';
import { invalidFields } from '../http/errors.ts';
import { line, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { StatusError } from '../kernel/status.ts';
import { type AuditActor, auditActorOf } from '../audit/audit.ts';
import { causeOf } from '../access/caller.ts';
import { PLATFORMS, PackPlatform } from '../servers/api/fields.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import { StopFirst, stoppedFor } from '../servers/api/stop-first.ts';
import type { ServerView } from '../servers/api/view.ts';
import { wrongState } from '../servers/refusals.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Mods } from './mods.ts';
import type { Shared } from '../servers/shared.ts';

export const SetModpack = operation({
  id: 'SetModpack',
  method: 'post',
  path: '/v1/servers/{id}:setModpack',
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  writesCode: true,
  section: 'Servers',
  summary: 'Install a mod pack',
  description:
    'Only on a stopped server, or with `stopFirst`, which here does not start it again. If there is a world, it is backed up first, and this call returns when the backup ' +
    'is done. Then the server is `installing`, and afterwards `hibernated` or `install_failed`. After a failure, ' +
    'use RetryInstall. The pack sets the loader and the Minecraft version. Files of the previous pack are ' +
    'removed, except those changed since.',
  precondition: 'the server must be stopped (or `stopFirst` set), and its type must support mod packs.',
  params: ServerParams,
  body: message({
    platform: PackPlatform.describe('`modrinth`, `curseforge` or `ftb`.'),
    ref: line(128).min(1, 'is required').describe("The pack's id or short name on the platform."),
    version: line(128).default('').describe('Version id. Empty = the newest. The pack sets the Minecraft version.'),
    stopFirst: StopFirst,
  }),
  example: { platform: 'modrinth', ref: 'adrenaserver' },
  reply: Server,
});

function check(
  { type }: ServerRow,
  { platform, ref, version }: { platform: string; ref: string; version: string },
): void {
  if (type === SANDBOX) {
    const sentence = 'The sandbox doesn’t support mod packs. Create a server of another type.';
    throw new StatusError('FAILED_PRECONDITION', 'MODS_NOT_SUPPORTED', sentence, { metadata: { type } });
  }
  if (!PLATFORMS.includes(platform)) {
    throw invalidFields([{ field: 'platform', description: `must be one of ${PLATFORMS.join(', ')}` }]);
  }
  try {
    modpackEnv({ modpackPlatform: platform, modpackRef: ref, modpackVersion: version, version: '' });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw invalidFields([{ field: 'ref', description: error.message }]);
  }
}

function requireRest(state: string, server: string): void {
  if (isTagged(state, 'at-rest')) return;
  const sentence = 'Stop the server first, then change what is installed.';
  throw wrongState(`SERVER_${state.toUpperCase()}`, sentence, { server, state });
}

export const modpackOperations = (
  { servers, serveServer, clock }: Shared,
  mods: Mods,
  worlds: { backUp(server: ServerRow, actor: AuditActor, signal: AbortSignal): Promise<string> },
  /** Rejects if the server must not run its core. */
  mayRun: (row: ServerRow) => Promise<void>,
  serverView: ServerView,
): readonly Served[] => [
  serveServer(SetModpack, async (call) => {
    const { server, body, principal, signal } = call;
    const { row } = server;
    check(row, body);
    // Also checked before the backup, to avoid a useless one.
    await mayRun(row);
    const cause = causeOf(principal);
    if (!body.stopFirst) requireRest(server.state, row.id);
    const { platform: modpackPlatform, ref: modpackRef, version: modpackVersion } = body;
    const fields = await mods.pack(modpackPlatform, { modpackRef, modpackVersion, version: '' }, signal);
    const install = async () => {
      await worlds.backUp(row, auditActorOf(principal), signal);
      const command = { type: 'REINSTALL' as const, at: clock.now(), cause };
      return await servers.send(row.id, command, { ...fields, pendingUpdate: null });
    };
    return serverView(await stoppedFor({ servers, clock }, call, install));
  }),
];
