import * as z from 'zod';
import { ServerId, line, message, reply } from '../../http/fields.ts';

/** A server's label for people. */
export const ServerName = line(64).trim().min(1, 'is required');

/** The tags of a server. Pages list them separated by commas. */
export const Tags = z
  .array(
    line(24)
      .trim()
      .min(1, 'must not be empty')
      .regex(/^[^,]*$/, 'must not contain commas'),
  )
  .max(10, 'must have at most 10 entries')
  .transform((tags) => [...new Set(tags)]);

/** The fields of a server that depend on the caller, or on the moment. */
export const FOR_CALLER = {
  role: reply.text.describe('Your role on it: `owner`, `member` or `limited`.'),
  playersOnline: z.int32().optional().meta({ format: 'int32', description: 'Absent if unknown.' }),
};

/** The parameters of paths under `/v1/servers/{id}`. */
export const ServerParams = message({ id: ServerId.describe('Server id.') });

/** An extra port of a server. */
export const PortMapping = z
  .object({
    slot: reply.int32,
    containerPort: reply.int32.describe('Port inside the container.'),
    hostPort: reply.int32.describe('Derived, display only.'),
    proto: reply.text.describe('`tcp` or `udp`.'),
    label: reply.text,
    wakes: reply.flag.describe('Whether Bedrock players wake the server at this port.'),
    host: reply.text.describe(
      'The host of `hostPort`. With several machines, the machine that runs the game. It can change with each ' +
        'start, and is empty while no machine runs the game.',
    ),
  })
  .meta({ id: 'PortMapping' });

const CoreBuild = z
  .object({
    type: reply.text,
    version: reply.text,
    build: reply.text.describe('Empty: unknown, or the newest at the next start.'),
  })
  .meta({ id: 'CoreBuild' });

const ServerUpdate = z
  .object({
    from: CoreBuild.describe('The software that ran last.'),
    to: CoreBuild.describe('The software of the next start.'),
    backupId: reply.text.describe('The backup from before the update; restore it to go back. Empty without a world.'),
    automatic: reply.flag.describe('A newer build, adopted while the server slept. If it fails, it is taken back.'),
    modsWithoutVersion: z
      .array(z.string())
      .default([])
      .describe('Names of mods that have no version for the new software, as far as their registries respond.'),
  })
  .meta({ id: 'ServerUpdate' });

/** A server as its owner sees it; every field is always there, in the reference's order. */
export const Server = z
  .object({
    id: reply.text.describe('A slug; the default for `hostname`.'),
    name: reply.text,
    hostname: reply.text.describe('First label of the address.'),
    accountId: reply.text.describe('Owning account.'),
    addr: reply.text.describe(
      'The address for players. With PUBLIC_HOST=localhost, one server needs no name and is at `localhost` ' +
        'itself: DEFAULT_SERVER, or the oldest. Empty for a private backend of a server network.',
    ),
    container: reply.text.describe(
      'The name of the Docker container or Swarm service. If games run as processes, the value given at creation.',
    ),
    state: reply.text.describe(
      '`hibernated`, `starting`, `running`, `stopping`, `installing`, `install_failed` or `start_failed`. New ' +
        'states may be added.',
    ),
    type: reply.text.describe('Core type.'),
    version: reply.text.describe('Minecraft version.'),
    ramMb: reply.int32,
    plan: reply.text.describe('`metered` or `flat`.'),
    region: reply.text,
    nodeLabel: reply.text,
    motd: reply.text.describe('The description in the server list. Empty = the default.'),
    properties: reply.textMap.describe('Editable subset of server.properties; applies on next start.'),
    idleTimeoutMinutes: reply.int32.describe("0: the node's default; -1: it never sleeps by itself."),
    awakeHours: reply.text.describe('When it stays awake without players, in `awakeTimeZone`. Empty: never.'),
    awakeTimeZone: reply.text.describe('An IANA time zone name.'),
    ignoredPlayers: reply.text.describe('Players that do not keep it awake.'),
    tags: z.array(z.string()).default([]).describe('Words by which the list of servers can be searched.'),
    alertWebhookUrl: reply.text.describe('Empty: alerts are off.'),
    bakedAt: reply.timestamp.describe('First successful boot; null: the world is still being prepared.'),
    createdAt: reply.timestamp,
    updatedAt: reply.timestamp,
    lastActiveAt: reply.timestamp,
    ports: z.array(PortMapping).default([]),
    modpackPlatform: reply.text,
    modpackRef: reply.text,
    modpackVersion: reply.text,
    installError: reply.text,
    installErrorCode: reply.text,
    installErrorSummary: reply.text,
    installErrorSuggestion: reply.text,
    startError: reply.text.describe('Last lines of the failed start. Empty if no start has failed.'),
    startErrorCode: reply.text,
    startErrorSummary: reply.text.describe('Title, then detail.'),
    startErrorSuggestion: reply.text,
    startupPhase: reply.text.describe(
      'While `starting`: `downloading`, `installing`, `starting`, `loading_mods`, `generating_world` or `ready`; else ' +
        'empty.',
    ),
    startupPercent: reply.int32.describe(
      'Progress of the start in percent while `starting`, 100 while running, otherwise 0.',
    ),
    diskUsageMb: reply.int64.describe('The larger of allocated space and total file length, as last measured.'),
    diskUsageKnown: reply.flag.describe('False: never measured.'),
    diskQuotaOverrideMb: reply.int64.describe('Set by an operator; 0 = none.'),
    diskQuotaEffectiveMb: reply.int64.describe('In force; 0: no quota.'),
    quotaExceeded: reply.flag.describe(
      'The server exceeds its quota, or the account exceeds its disk limit. The server is stopped if it keeps ' +
        'growing, and cannot start until space is freed.',
    ),
    sftpEnabled: reply.flag,
    publicStatusEnabled: reply.flag,
    publicShowAddress: reply.flag,
    publicSlug: reply.text,
    waitingRoom: reply.flag.describe('Experimental. Players see the progress of the start while they wait.'),
    network: z
      .object({
        front: reply.text.describe('The id of the server in front, or `external`.'),
        address: reply.text.describe('The address to set in the front for this server.'),
      })
      .meta({ id: 'ServerNetwork' })
      .nullable()
      .default(null)
      .describe('Set for a private backend of a server network. Null: the server is public.'),
    clientVersions: reply.text.describe('Which clients can play: `auto`, `own` or `any` version. See UpdateServer.'),
    jvmPreset: reply.text.describe('Options for Java: `default`, `aikar` or `zgc`; applies on next start.'),
    jvmOptions: reply.text.describe('Further options for Java, separated by spaces; applies on next start.'),
    builds: reply.text.describe('When it changes to a newer build of its core: `pinned` or `latest-when-asleep`.'),
    refusedBuild: reply.text.describe('The build that failed its first start and was taken back. Empty without one.'),
    update: ServerUpdate.nullable()
      .default(null)
      .describe(
        'A change of the software, from UpdateServerVersion or `latest-when-asleep`, until a run has ended in order. ' +
          'Otherwise null.',
      ),
    startupEtaSeconds: reply.int32.describe('Estimated seconds until it is ready, while `starting`. 0 = unknown.'),
    startupItem: reply.text.describe(
      'The item of the phase `downloading` or `installing`, such as `Java 25` or `Paper 1.21.8`; else empty.',
    ),
    stopsAt: reply.timestamp.describe(
      'While players are warned: when the server stops or restarts, unless the last player leaves before. Else null.',
    ),
    stopIsRestart: reply.flag.describe('Whether the stop at `stopsAt` is a restart.'),
  })
  .meta({ id: 'Server' });
