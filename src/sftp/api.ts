import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { Tx } from '../store/store.ts';
import type { Sftp } from './sftp.ts';
import { type SftpLogin, getSftpUser, issueSftpLogin, revokeSftpLogin, rotateSftpLogin } from './users.ts';
import type { Shared } from '../servers/shared.ts';
import type { ServerNow } from '../servers/server-now.ts';

const where = {
  host: reply.text,
  port: reply.int32,
  username: reply.text.describe('Valid for this server only.'),
};

const SftpAccess = z
  .object({
    enabled: reply.flag,
    ...where,
    sessions: reply.int32.describe('Number of signed-in connections.'),
    hostKeyFingerprint: reply.text.describe(
      'Compare it with the fingerprint that your client shows on the first connection.',
    ),
  })
  .meta({ id: 'SftpAccess' });

const SftpCredential = z
  .object({ ...where, password: reply.text.describe('Returned only once.') })
  .meta({ id: 'SftpCredential' });

/** The password gives read and write access to all files, so only owners can create it. */
const COMMON = { auth: 'key', role: 'owner', section: 'SFTP', params: ServerParams } as const;
const CUTS = 'Ends all open SFTP sessions of the server.';

export const GetSftp = operation({
  ...COMMON,
  id: 'GetSftp',
  method: 'get',
  path: '/v1/servers/{id}/sftp',
  scope: 'servers:read',
  summary: 'Get SFTP access',
  description:
    'Returns the address and the user name. The password is returned only when it is created. The user name is ' +
    'empty until SFTP is enabled for the first time.',
  reply: SftpAccess,
});

export const EnableSftp = operation({
  ...COMMON,
  id: 'EnableSftp',
  method: 'post',
  path: '/v1/servers/{id}/sftp:enable',
  scope: 'files:write',
  summary: 'Enable SFTP',
  description: `Creates a password for the server's only SFTP user. The server may be asleep. ${CUTS}`,
  reply: SftpCredential,
});

export const DisableSftp = operation({
  ...COMMON,
  id: 'DisableSftp',
  method: 'post',
  path: '/v1/servers/{id}/sftp:disable',
  scope: 'files:write',
  summary: 'Disable SFTP',
  description: `The password stops working permanently. ${CUTS}`,
  reply: Nothing,
});

export const RotateSftpPassword = operation({
  ...COMMON,
  id: 'RotateSftpPassword',
  method: 'post',
  path: '/v1/servers/{id}/sftp:rotatePassword',
  scope: 'files:write',
  summary: 'Create a new SFTP password',
  description: `The old password stops working. Rotate it when someone who knows it leaves. ${CUTS}`,
  precondition: 'SFTP must be enabled.',
  reply: SftpCredential,
});

interface Call {
  server: ServerNow;
  principal: Principal;
}
type Change<T> = (tx: Tx, serverId: string, at: number) => Promise<T>;

export function sftpOperations(
  { store, servers, serveServer, clock }: Shared,
  sftp: Sftp,
  publicHost: string,
): readonly Served[] {
  const address = () => ({ host: publicHost, port: sftp.port });

  async function credential(call: Call, action: string, issue: Change<SftpLogin>) {
    const login = await change(call, action, true, issue);
    return { ...address(), ...login };
  }

  /** Changes the access and the server's row in one write. Then ends all sessions, which may use an earlier password. */
  async function change<T>(
    { server: { row }, principal }: Call,
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

  return [
    serveServer(GetSftp, async ({ server: { row } }) => ({
      enabled: row.sftpEnabled,
      ...address(),
      username: (await getSftpUser(store, row.id))?.username,
      sessions: sftp.sessions(row.id),
      hostKeyFingerprint: sftp.fingerprint,
    })),
    serveServer(EnableSftp, (call) => credential(call, 'sftp.enable', issueSftpLogin)),
    serveServer(DisableSftp, async (call) => change(call, 'sftp.disable', false, revokeSftpLogin)),
    serveServer(RotateSftpPassword, (call) => credential(call, 'sftp.rotatePassword', rotateSftpLogin)),
  ];
}
