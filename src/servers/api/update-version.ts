import * as z from 'zod';
import type { CoreRules } from '../../game/core-rules.ts';
import { invalidFields } from '../../http/errors.ts';
import { message } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import type { Clock } from '../../kernel/clock.ts';
import { auditActorOf } from '../../audit/audit.ts';
import { notStopped } from '../refusals.ts';
import type { Servers } from '../servers.ts';
import { isStopped } from '../snapshots.ts';
import { type Updates, changeText, packDecides } from '../updates.ts';
import { CoreType, GameVersion, checkGame, leastRamMb } from './fields.ts';
import { Server, ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';
import { StopFirst, stoppedFor } from './stop-first.ts';
import { recordOnServer } from './reach.ts';
import type { ServerView } from './view.ts';

/** Dependencies of these operations. */
export interface VersionNeeds {
  serverView: ServerView;
  clock: Clock;
  cores: CoreRules;
  sandboxVersions: readonly string[];
  serveServer: ServeServer;
  servers: Servers;
  updates: Updates;
}

export const UpdateServerVersion = operation({
  id: 'UpdateServerVersion',
  method: 'post',
  path: '/v1/servers/{id}:updateVersion',
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  summary: 'Change core type or Minecraft version',
  description:
    'Only while the server is stopped, or with `stopFirst`. Applies at the next start. Absent fields stay unchanged. A server keeps ' +
    'the build of its core that it ran first. To get the newest build, send the current type or version. A newer ' +
    'version upgrades the world permanently, and an older one may fail to read it. If there is a world, it is ' +
    'backed up first, and this call returns when the backup is ready. If the backup fails, nothing changes: ' +
    'BACKUP_FAILED. `update` in the reply says what changes. If the next start fails, restore the backup in ' +
    '`update.backupId`: files, core, build and mods are then as before. With `dryRun`, nothing changes, and the ' +
    'reply shows the server as it would be. The audit log marks a downgrade.',
  precondition: 'the server must be stopped (or `stopFirst` set) and must not have a mod pack.',
  params: ServerParams,
  body: message({
    type: CoreType.optional().describe('Core type.'),
    version: GameVersion.optional().describe('Minecraft version.'),
    dryRun: z.boolean('must be true or false').default(false).describe('Only show what would change.'),
    stopFirst: StopFirst,
  }).meta({ id: 'UpdateServerVersionRequest' }),
  example: { version: '1.21.8' },
  reply: Server,
});

export const versionOperations = (needs: VersionNeeds): readonly Served[] => [
  needs.serveServer(UpdateServerVersion, async (call) => {
    const { server: now, body, principal, signal } = call;
    const { row } = now;
    const wanted = { ...row, type: body.type || row.type, version: body.version || row.version };
    const violations = [...checkGame(wanted, needs.sandboxVersions)];
    const least = leastRamMb(wanted.type);
    if (row.ramMb < least) violations.push({ field: 'type', description: `needs at least ${least} MB of RAM` });
    if (violations.length > 0) throw invalidFields(violations);
    if (row.modpackPlatform !== '') throw packDecides(row);
    await needs.cores.require(wanted);
    const { type, version } = wanted;
    if (!body.type && !body.version) {
      const entry = { action: 'server.version', detail: changeText(row, { type, version, build: '' }) };
      const record = recordOnServer(principal, row, { ...entry, at: needs.clock.now() });
      if (body.dryRun) return needs.serverView(now);
      return needs.serverView(await stoppedFor(needs, call, () => needs.servers.patchAtRest(row.id, {}, record)));
    }
    if (!body.dryRun && !body.stopFirst && !isStopped(now)) throw notStopped(now);
    const plan = await needs.updates.plan(row, wanted, signal);
    if (body.dryRun) return needs.serverView({ ...now, row: { ...row, type, version, pendingUpdate: plan } });
    const update = () => needs.updates.apply(row, plan, auditActorOf(principal), signal);
    return needs.serverView(await stoppedFor(needs, call, update));
  }),
];
