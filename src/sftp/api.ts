import { z } from 'zod';
import { reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { Services } from '../http/services.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { type ServerCall, serverOperation } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { Tx } from '../store/store.ts';
import { getSftpUser } from './rows.ts';
import { type SftpLogin, issueSftpLogin, revokeSftpLogin, rotateSftpLogin } from './users.ts';

const where = {
  host: reply.text,
  port: reply.int32,
  username: reply.text.describe('Of this server alone.'),
};

const SftpAccess = z
  .object({
    enabled: reply.flag,
    ...where,
    sessions: reply.int32.describe('Connections open at present.'),
    hostKeyFingerprint: reply.text.describe('What clients show on the first connection, to be compared.'),
  })
  .meta({ id: 'SftpAccess' });

const SftpCredential = z
  .object({ ...where, password: reply.text.describe('Shown this once.') })
  .meta({ id: 'SftpCredential' });

/** Whoever has the password may read and change all files, so it is for owners to hand out. */
const of = { role: 'owner', tag: 'control', params: ServerParams } as const;
const CUTS = 'Ends all sessions that are open, also those of the password before.';

export const getSftp = serverOperation({
  ...of,
  id: 'GetSftp',
  method: 'get',
  path: '/v1/servers/{id}/sftp',
  scope: 'servers:read',
  summary: 'Read how to reach the files over SFTP',
  description:
    'All but the password, which is shown only when it is made. The user name is empty before the first time.',
  reply: SftpAccess,
}).handle(async ({ server: { row } }, services) => ({
  enabled: row.sftpEnabled,
  ...address(services),
  username: (await getSftpUser(services.store, row.id))?.username,
  sessions: services.sftp.sessions(row.id),
  hostKeyFingerprint: services.sftp.fingerprint,
}));

export const enableSftp = serverOperation({
  ...of,
  id: 'EnableSftp',
  method: 'post',
  path: '/v1/servers/{id}/sftp:enable',
  scope: 'files:write',
  summary: 'Let somebody in over SFTP',
  description: `Makes a password for the server's one SFTP user, whether the server is awake or asleep. ${CUTS}`,
  reply: SftpCredential,
}).handle((call, services) => credential(call, services, 'sftp.enable', issueSftpLogin));

export const disableSftp = serverOperation({
  ...of,
  id: 'DisableSftp',
  method: 'post',
  path: '/v1/servers/{id}/sftp:disable',
  scope: 'files:write',
  summary: 'Let nobody in over SFTP',
  description: `The password is void for good. ${CUTS}`,
  reply: Nothing,
}).handle(async (call, services) => {
  await change(call, services, 'sftp.disable', false, revokeSftpLogin);
  return {};
});

export const rotateSftpPassword = serverOperation({
  ...of,
  id: 'RotateSftpPassword',
  method: 'post',
  path: '/v1/servers/{id}/sftp:rotatePassword',
  scope: 'files:write',
  summary: 'Make a new SFTP password',
  description: `The one before is void: rotate it when somebody who had it leaves. ${CUTS}`,
  precondition: 'SFTP must be enabled.',
  reply: SftpCredential,
}).handle((call, services) => credential(call, services, 'sftp.rotatePassword', rotateSftpLogin));

type Call = Pick<ServerCall<typeof ServerParams, z.ZodType, z.ZodType>, 'server' | 'principal'>;
type Change<T> = (tx: Tx, serverId: string, at: number) => Promise<T>;

async function credential(
  call: Call,
  services: Services,
  action: string,
  issue: Change<SftpLogin>,
): Promise<z.input<typeof SftpCredential>> {
  const login = await change(call, services, action, true, issue);
  return { ...address(services), ...login };
}

/** Changes who may sign in, in one write with what shows of it; then nobody is in who came by an earlier password. */
async function change<T>(
  { server: { row }, principal }: Call,
  { servers, sftp, clock }: Services,
  action: string,
  sftpEnabled: boolean,
  work: Change<T>,
): Promise<T> {
  const at = clock.now();
  const record = recordOnServer(principal, row, { action, at });
  let result: { of: T } | undefined;
  await servers.patch(row.id, { sftpEnabled }, async (tx) => {
    result = { of: await work(tx, row.id, at) };
    await record(tx);
  });
  await sftp.cut(row.id);
  return result!.of;
}

function address({ config, sftp }: Services): { host: string; port: number } {
  return { host: config.publicHost, port: sftp.port };
}
