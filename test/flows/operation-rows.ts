import type { Code } from '../../src/kernel/status.ts';
import { tarBlock } from '../support/hostile-archives.ts';
import type { Service } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The input of a call. Its method and path come from the document. */
export interface Sent {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** A file's content, instead of a body. */
  bytes?: string;
  /** A key, instead of the operator's. */
  key?: string;
}

type Reply = Record<string, unknown>;

/** The state of the walk, which earlier rows leave for later ones. */
export interface Walk {
  service: Service;
  accountId: string;
  noted: Map<string, string>;
  /** Makes an additional valid call. */
  call: (id: string, sent: Sent) => Promise<Reply>;
  /** Joins the server as a player. */
  join(): Promise<void>;
}

/** An operation, called once with invalid and then once with valid input. */
export interface Row {
  id: string;
  /** A server other than the walk's own. */
  server?: string;
  before?: (walk: Walk) => Promise<unknown>;
  well?: Sent | ((walk: Walk) => Sent);
  /** The changes that make the valid call invalid, and the expected error code. */
  bad: Sent & { code: Code };
  /** Stores values of the reply for later rows, and waits for the work that the call began. */
  after?: (reply: Reply, walk: Walk) => unknown;
}

export const SERVER = 'walk';
const MODDED = 'modded';
const PACKED = 'packed';

/** A world in an archive. Its bytes are ASCII. */
const WORLD_TAR = Buffer.concat([
  tarBlock('World/level.dat', '0', Buffer.from('level')),
  Buffer.alloc(1024),
]).toString();

const UNKNOWN_SERVER = { params: { id: 'nobody' }, code: 'NOT_FOUND' } as const;
const UNKNOWN_KEY = { key: 'dmk_nonsense', code: 'UNAUTHENTICATED' } as const;
const UNKNOWN_WEBHOOK = { body: { webhookId: 'whk_none', deliveryId: 'dlv_none' }, code: 'NOT_FOUND' } as const;
const OTHER_ACCOUNT = { params: { accountId: 'acc_other' }, code: 'PERMISSION_DENIED' } as const;
const badBody = (body: object) => ({ body, code: 'INVALID_ARGUMENT' }) as const;
const badQuery = (query: Record<string, string>) => ({ query, code: 'INVALID_ARGUMENT' }) as const;
const note =
  (name: string, field = name) =>
  (reply: Reply, { noted }: Walk) =>
    noted.set(name, String(reply[field]));
const noted =
  (name: string, ...more: string[]) =>
  ({ noted }: Walk) =>
    Object.fromEntries([name, ...more].map((each) => [each, noted.get(each) ?? '']));
const reach =
  (state: string, id = SERVER) =>
  (_: unknown, { service }: Walk) =>
    service.reach(id, state);

async function backedUp({ id }: Reply, { noted, call }: Walk): Promise<void> {
  noted.set('backupId', String(id));
  await until({ what: 'the backup is ready', everyMs: 100 }, async () => {
    const { backups } = (await call('ListBackups', {})) as { backups: { id: string; state: string }[] };
    return backups.some((backup) => backup.id === id && backup.state === 'ready');
  });
}

/** Every operation, in an order in which each can succeed. */
export const ROWS: readonly Row[] = [
  { id: 'WhoAmI', bad: UNKNOWN_KEY },
  { id: 'GetWallet', bad: OTHER_ACCOUNT },
  { id: 'ListLedger', well: { query: { limit: '10' } }, bad: badQuery({ limit: 'many' }) },
  { id: 'GetAccountLimits', bad: OTHER_ACCOUNT },
  { id: 'CreateCheckoutLink', well: { body: { amountUsd: 5 } }, bad: badBody({ amountUsd: 0 }) },
  { id: 'GetSpendCap', bad: OTHER_ACCOUNT },
  { id: 'SetSpendCap', well: { body: { monthlyMicros: '9000000' } }, bad: badBody({ monthlyMicros: '-1' }) },
  { id: 'ListAccountAudit', bad: badQuery({ limit: 'many' }) },
  { id: 'GetCapacity', bad: UNKNOWN_KEY },
  { id: 'ListRegions', bad: UNKNOWN_KEY },
  { id: 'ListMinecraftVersions', bad: UNKNOWN_KEY },
  {
    id: 'CreateServer',
    well: { body: { id: SERVER, name: 'Walk', type: 'sandbox', version: '1.21.4', ramMb: 256 } },
    bad: badBody({ name: '', ramMb: 256 }),
  },
  { id: 'ListServers', bad: { query: { accountId: 'acc_other' }, code: 'PERMISSION_DENIED' } },
  { id: 'ListMyServers', bad: UNKNOWN_KEY },
  { id: 'GetServer', bad: UNKNOWN_SERVER },
  { id: 'UpdateServer', well: { body: { name: 'A walk', ramMb: 320 } }, bad: badBody({ ramMb: -1 }) },
  { id: 'UpdateServerVersion', well: { body: { version: '1.21.4' } }, bad: badBody({ version: '1.21.4\n' }) },
  {
    id: 'SetServerProperties',
    well: { body: { idleTimeoutMinutes: 20, properties: { difficulty: 'hard' } } },
    bad: badBody({ properties: { 'server-port': '1' } }),
  },
  { id: 'SetServerMotd', well: { body: { motd: '<gold>Walk' } }, bad: badBody({ motd: 'x'.repeat(2_000) }) },
  { id: 'SetServerAlertWebhook', well: { body: { url: '' } }, bad: badBody({ url: 'http://127.0.0.1/' }) },
  { id: 'ListWebhooks', bad: OTHER_ACCOUNT },
  {
    id: 'CreateWebhook',
    well: { body: { url: 'https://hooks.example/x', serverId: SERVER, format: 'json', kinds: ['started'] } },
    bad: badBody({ url: 'https://hooks.example/x', kinds: [] }),
    after: ({ webhook }, { noted }) => noted.set('webhookId', (webhook as { webhookId: string }).webhookId),
  },
  {
    id: 'UpdateWebhook',
    well: (walk) => ({ body: { ...noted('webhookId')(walk), kinds: ['crashed'] } }),
    bad: UNKNOWN_WEBHOOK,
  },
  { id: 'RotateWebhookSecret', well: (walk) => ({ body: noted('webhookId')(walk) }), bad: UNKNOWN_WEBHOOK },
  { id: 'TestWebhook', well: (walk) => ({ body: noted('webhookId')(walk) }), bad: UNKNOWN_WEBHOOK },
  {
    id: 'ListWebhookDeliveries',
    well: (walk) => ({ params: noted('webhookId')(walk) }),
    bad: { params: { webhookId: 'whk_none' }, code: 'NOT_FOUND' },
    after: ({ deliveries }, { noted }) =>
      noted.set('deliveryId', (deliveries as { deliveryId: string }[])[0]?.deliveryId ?? ''),
  },
  {
    id: 'ResendWebhookDelivery',
    // A webhook that is switched off gives up its message.
    before: async (walk) => {
      const body = noted('webhookId')(walk);
      const params = { accountId: walk.accountId };
      for (const enabled of [false, true]) await walk.call('UpdateWebhook', { params, body: { ...body, enabled } });
    },
    well: (walk) => ({ body: noted('webhookId', 'deliveryId')(walk) }),
    bad: UNKNOWN_WEBHOOK,
  },
  { id: 'DeleteWebhook', well: (walk) => ({ body: noted('webhookId')(walk) }), bad: UNKNOWN_WEBHOOK },
  { id: 'SetPublicStatus', well: { body: { enabled: true } }, bad: badBody({ enabled: 'maybe' }) },
  { id: 'SetWakePolicy', well: { body: { mode: 'anyone' } }, bad: badBody({ mode: 'strangers' }) },
  {
    id: 'AddServerPort',
    well: { body: { containerPort: 24_454, label: 'Voice', proto: 'udp' } },
    bad: badBody({ containerPort: 0, proto: 'udp' }),
  },
  { id: 'RemoveServerPort', well: { body: { slot: 0 } }, bad: { body: { slot: 99 }, code: 'NOT_FOUND' } },
  { id: 'ListServerNames', bad: UNKNOWN_SERVER },
  { id: 'AddServerName', well: { body: { name: 'play.dormouse.invalid' } }, bad: badBody({ name: 'nonsense' }) },
  {
    id: 'RemoveServerName',
    well: { body: { name: 'play.dormouse.invalid' } },
    bad: { body: { name: 'other.example.org' }, code: 'NOT_FOUND' },
  },
  { id: 'SetServerNetwork', well: { body: { front: '' } }, bad: badBody({ front: 'nowhere' }) },
  { id: 'SetServerHostname', well: { body: { hostname: 'renamed' } }, bad: badBody({ hostname: '-' }) },

  { id: 'CreateServerDatabase', well: { body: {} }, bad: UNKNOWN_SERVER },
  { id: 'GetServerDatabase', bad: UNKNOWN_SERVER },
  { id: 'RotateServerDatabasePassword', well: { body: {} }, bad: UNKNOWN_SERVER },
  { id: 'DropServerDatabase', well: { body: {} }, bad: UNKNOWN_SERVER },

  { id: 'EnableSftp', well: { body: {} }, bad: UNKNOWN_SERVER },
  { id: 'GetSftp', bad: UNKNOWN_SERVER },
  { id: 'RotateSftpPassword', well: { body: {} }, bad: UNKNOWN_SERVER },
  { id: 'DisableSftp', well: { body: {} }, bad: UNKNOWN_SERVER },

  { id: 'MakeDirectory', well: { body: { path: 'notes' } }, bad: badBody({ path: '../out' }) },
  {
    id: 'WriteFile',
    well: { body: { path: 'notes/a.txt', content: 'aGVsbG8=' } },
    bad: badBody({ path: 'notes/a.txt', content: '%' }),
  },
  { id: 'ListFiles', well: { query: { path: 'notes' } }, bad: { query: { path: 'none' }, code: 'NOT_FOUND' } },
  { id: 'ReadFile', well: { query: { path: 'notes/a.txt' } }, bad: badQuery({ path: '../../secret' }) },
  { id: 'CopyPath', well: { body: { from: 'notes', to: 'copy' } }, bad: badBody({ from: 'notes', to: '/../x' }) },
  {
    id: 'RenamePath',
    well: { body: { from: 'copy/a.txt', to: 'copy/b.txt' } },
    bad: { body: { from: 'none', to: 'there' }, code: 'NOT_FOUND' },
  },
  {
    id: 'UploadFile',
    well: { query: { path: 'copy/up.bin' }, bytes: 'uploaded' },
    bad: { query: { path: '../up.bin' }, bytes: 'uploaded', code: 'INVALID_ARGUMENT' },
  },
  { id: 'DownloadPath', well: { query: { path: 'copy/up.bin' } }, bad: badQuery({ path: 'a\0b' }) },
  {
    id: 'ArchivePaths',
    well: { body: { paths: ['copy'], to: 'copy.tar.zst' } },
    bad: badBody({ paths: [], to: 'none.tar.zst' }),
  },
  {
    id: 'ExtractArchive',
    well: { body: { path: 'copy.tar.zst', to: 'again' } },
    bad: { body: { path: 'none.tar.zst', to: 'again' }, code: 'NOT_FOUND' },
  },
  { id: 'DeletePath', well: { body: { path: 'again' } }, bad: badBody({ path: '' }) },

  { id: 'GetPlayerLists', bad: UNKNOWN_SERVER },
  { id: 'SetWhitelistEntry', well: { body: { name: 'Steve', allowed: true } }, bad: badBody({ name: 'No One!' }) },
  { id: 'SetWhitelistEnforced', well: { body: { enforced: false } }, bad: badBody({ enforced: 'maybe' }) },
  {
    id: 'SetBanEntry',
    well: { body: { name: 'Griefer', banned: true } },
    bad: badBody({ name: 'a\nb', banned: true }),
  },
  { id: 'SetIpBanEntry', well: { body: { ip: '203.0.113.7', banned: true } }, bad: badBody({ ip: '300.1.1.1' }) },
  { id: 'SetOpEntry', well: { body: { name: 'Steve', op: true } }, bad: badBody({ name: '' }) },

  {
    id: 'CreateSchedule',
    well: { body: { kind: 'start', cronExpr: '0 4 * * *' } },
    bad: badBody({ kind: 'start', cronExpr: 'now and then' }),
    after: note('scheduleId', 'id'),
  },
  { id: 'ListSchedules', bad: UNKNOWN_SERVER },
  {
    id: 'SetScheduleEnabled',
    well: (walk) => ({ body: { ...noted('scheduleId')(walk), enabled: true } }),
    bad: { body: { scheduleId: 'none', enabled: true }, code: 'NOT_FOUND' },
  },
  {
    id: 'RunScheduleNow',
    well: (walk) => ({ body: noted('scheduleId')(walk) }),
    bad: { body: { scheduleId: 'none' }, code: 'NOT_FOUND' },
    after: reach('running'),
  },
  {
    id: 'DeleteSchedule',
    well: (walk) => ({ body: noted('scheduleId')(walk) }),
    bad: { body: { scheduleId: 'none' }, code: 'NOT_FOUND' },
  },

  { id: 'StartServer', well: { body: {} }, bad: UNKNOWN_SERVER, after: reach('running') },
  { id: 'RunCommand', well: { body: { command: 'list' } }, bad: badBody({ command: '' }) },
  { id: 'KeepAwake', well: { body: { minutes: 5 } }, bad: badBody({ minutes: 1_441 }) },
  { id: 'GetServerLogs', well: { query: { tail: '5' } }, bad: badQuery({ tail: 'all' }) },
  { id: 'StreamServerLogs', well: { query: { tail: '5' } }, bad: badQuery({ tail: 'all' }) },
  { id: 'GetServerMetrics', well: { query: { hours: '168' } }, bad: badQuery({ hours: 'all' }) },
  { id: 'StreamServerEvents', bad: UNKNOWN_SERVER },
  { id: 'KickPlayer', before: (walk) => walk.join(), well: { body: { name: 'Steve' } }, bad: badBody({ name: 'a b' }) },
  { id: 'RestartServer', well: { body: {} }, bad: UNKNOWN_SERVER, after: reach('running') },

  { id: 'CreateBackup', well: { body: {} }, bad: UNKNOWN_SERVER, after: backedUp },
  { id: 'ListBackups', bad: UNKNOWN_SERVER },
  {
    id: 'SetBackupLocked',
    well: (walk) => ({ params: noted('backupId')(walk), body: { locked: false } }),
    bad: { body: { locked: 'maybe' }, code: 'INVALID_ARGUMENT' },
  },
  { id: 'SetBackupRetention', well: { body: { keepLast: 5 } }, bad: badBody({ keepLast: -1 }) },
  {
    id: 'DownloadBackup',
    well: (walk) => ({ params: noted('backupId')(walk) }),
    bad: { params: { backupId: 'none' }, code: 'NOT_FOUND' },
  },
  { id: 'StopServer', well: { body: {} }, bad: UNKNOWN_SERVER, after: reach('hibernated') },
  {
    id: 'RestoreBackup',
    well: (walk) => ({ params: noted('backupId')(walk), body: {} }),
    bad: { params: { backupId: 'none' }, code: 'NOT_FOUND' },
    after: reach('hibernated'),
  },
  {
    id: 'DeleteBackup',
    well: (walk) => ({ params: noted('backupId')(walk), body: {} }),
    bad: { params: { backupId: 'none' }, code: 'NOT_FOUND' },
  },

  {
    id: 'ListServerWorlds',
    before: ({ call }) => call('CopyPath', { body: { from: 'world', to: 'other' } }),
    bad: UNKNOWN_SERVER,
  },
  { id: 'SetActiveWorld', well: { body: { name: 'other' } }, bad: { body: { name: 'none' }, code: 'NOT_FOUND' } },
  { id: 'DeleteServerWorld', well: { body: { name: 'world' } }, bad: { body: { name: 'none' }, code: 'NOT_FOUND' } },
  { id: 'ResetServerWorld', well: { body: {} }, bad: UNKNOWN_SERVER },
  {
    id: 'ImportServerWorld',
    before: async (walk) => {
      const { id } = await walk.call('CreateImport', { query: { name: 'island.tar' }, bytes: WORLD_TAR });
      walk.noted.set('importId', String(id));
    },
    well: (walk) => ({ body: { ...noted('importId')(walk), name: 'island' } }),
    bad: { body: { importId: 'imp_none' }, code: 'NOT_FOUND' },
  },

  { id: 'ListTemplates', bad: UNKNOWN_KEY },
  {
    id: 'CreateTemplate',
    well: { body: { serverId: SERVER, name: 'Our usual' } },
    bad: badBody({ serverId: SERVER, name: '' }),
    after: note('templateId', 'id'),
  },
  {
    id: 'CreateServerFromTemplate',
    well: (walk) => ({ params: noted('templateId')(walk), body: { name: 'Copy' } }),
    bad: { params: { templateId: 'none' }, code: 'NOT_FOUND' },
  },
  {
    id: 'DeleteTemplate',
    well: (walk) => ({ params: noted('templateId')(walk), body: {} }),
    bad: { params: { templateId: 'none' }, code: 'NOT_FOUND' },
  },

  {
    id: 'CreateImport',
    well: { query: { name: 'world.tar' }, bytes: WORLD_TAR },
    bad: { bytes: 'no archive', code: 'INVALID_ARGUMENT' },
    after: note('importId', 'id'),
  },
  { id: 'ListImports', bad: UNKNOWN_KEY },
  {
    id: 'GetImport',
    well: (walk) => ({ params: noted('importId')(walk) }),
    bad: { params: { importId: 'imp_none' }, code: 'NOT_FOUND' },
  },
  {
    id: 'ConfirmImport',
    well: (walk) => ({ params: noted('importId')(walk), body: { type: 'sandbox', ramMb: 128 } }),
    bad: { params: { importId: 'imp_none' }, body: {}, code: 'NOT_FOUND' },
  },
  {
    id: 'DeleteImport',
    before: async (walk) => {
      const { id } = await walk.call('CreateImport', { query: { name: 'again.tar' }, bytes: WORLD_TAR });
      walk.noted.set('importId', String(id));
    },
    well: (walk) => ({ params: noted('importId')(walk), body: {} }),
    bad: { params: { importId: 'imp_none' }, code: 'NOT_FOUND' },
  },
  { id: 'ExportServer', bad: UNKNOWN_SERVER },

  {
    id: 'InviteMember',
    well: { body: { email: 'guest@example.com', role: 'member' } },
    bad: badBody({ email: 'nobody', role: 'member' }),
    after: note('memberId'),
  },
  { id: 'ListMembers', bad: UNKNOWN_SERVER },
  {
    id: 'SetMemberRole',
    well: (walk) => ({ body: { ...noted('memberId')(walk), role: 'limited' } }),
    bad: badBody({ memberId: 'mem_x', role: 'king' }),
  },
  {
    id: 'RemoveMember',
    well: (walk) => ({ body: noted('memberId')(walk) }),
    bad: { body: { memberId: 'mem_none' }, code: 'NOT_FOUND' },
  },

  {
    id: 'KillServer',
    before: ({ call }) => call('StartServer', { body: {} }),
    well: { body: {} },
    bad: UNKNOWN_SERVER,
    after: reach('hibernated'),
  },
  { id: 'ListServerAudit', well: { query: { limit: '5' } }, bad: badQuery({ limit: 'many' }) },
  { id: 'ListDiagnostics', bad: UNKNOWN_SERVER },
  { id: 'InspectMachine', bad: UNKNOWN_SERVER },
  { id: 'GetServerUsage', bad: badQuery({ from: 'yesterday' }) },

  { id: 'SearchMods', well: { query: { query: 'lithium' } }, bad: badQuery({ source: 'attic' }) },
  {
    id: 'AddServerMod',
    server: MODDED,
    before: ({ call }) =>
      call('CreateServer', { body: { id: MODDED, name: 'Modded', type: 'fabric', version: '1.21.4', ramMb: 512 } }),
    well: { body: { projectId: 'lithium' } },
    bad: badBody({ projectId: '../lithium' }),
  },
  { id: 'ListServerMods', server: MODDED, bad: UNKNOWN_SERVER },
  { id: 'UpdateServerMods', server: MODDED, well: { body: { dryRun: true } }, bad: badBody({ dryRun: 'maybe' }) },
  {
    id: 'RemoveServerMod',
    server: MODDED,
    well: { body: { projectId: 'lithium' } },
    bad: { body: { projectId: 'none' }, code: 'NOT_FOUND' },
  },
  {
    id: 'SetModpack',
    server: MODDED,
    before: ({ call, accountId }) => call('AcceptEula', { params: { accountId }, body: { accepted: true } }),
    well: { body: { platform: 'modrinth', ref: 'pack' } },
    bad: badBody({ platform: 'attic', ref: 'x' }),
    after: reach('hibernated', MODDED),
  },
  {
    id: 'RetryInstall',
    server: PACKED,
    // The pack does not exist. The creation succeeds, and the install fails.
    async before({ call, service }) {
      const pack = { modpackPlatform: 'modrinth', modpackRef: 'no-such-pack' };
      const server = { id: PACKED, name: 'Packed', type: 'fabric', version: '1.21.4', ramMb: 512 };
      await call('CreateServer', { body: { ...server, ...pack } });
      await service.reach(PACKED, 'install_failed', 60_000);
    },
    well: { body: {} },
    bad: UNKNOWN_SERVER,
  },
  { id: 'DeleteServer', bad: UNKNOWN_SERVER },
];
