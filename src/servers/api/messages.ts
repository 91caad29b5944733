import * as z from 'zod';
import { ServerId, line, message, reply } from '../../http/fields.ts';

/** A server's label for people. */
export const ServerName = line(64).trim().min(1, 'is required');

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
    host: reply.text.describe(
      'Where strangers reach `hostPort`. Of several machines, the one that the game is on: it may be another one after each start, and ' +
        'empty means that there is none now.',
    ),
  })
  .meta({ id: 'PortMapping' });

/** A server as its owner sees it; every field is always there, in the reference's order. */
export const Server = z
  .object({
    id: reply.text.describe('A slug; also the first label of its host name.'),
    name: reply.text,
    hostname: reply.text.describe('First label of the address.'),
    accountId: reply.text.describe('Owning account.'),
    addr: reply.text.describe(
      'Where players connect. With PUBLIC_HOST=localhost, the server that needs no name (DEFAULT_SERVER, or the oldest) is at localhost itself.',
    ),
    container: reply.text.describe(
      'What Docker calls its container, or a Swarm its service. Where games run as processes there is neither, and this is what was given at creation.',
    ),
    state: reply.text.describe(
      '`hibernated`, `starting`, `running`, `stopping`, `installing`, `install_failed` or `start_failed`; more may come.',
    ),
    type: reply.text.describe('Core type.'),
    version: reply.text.describe('Minecraft version.'),
    ramMb: reply.int32,
    plan: reply.text.describe('`metered` or `flat`.'),
    region: reply.text,
    nodeLabel: reply.text,
    motd: reply.text.describe('Applies on next start; empty: the default.'),
    properties: reply.textMap.describe('Editable subset of server.properties; applies on next start.'),
    idleTimeoutMinutes: reply.int32.describe("0: the node's default."),
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
    startError: reply.text.describe('Last lines of the failed start; empty without one.'),
    startErrorCode: reply.text,
    startErrorSummary: reply.text.describe('Title, then detail.'),
    startErrorSuggestion: reply.text,
    startupPhase: reply.text.describe(
      'While `starting`: `starting`, `loading_mods`, `generating_world` or `ready`; else empty.',
    ),
    startupPercent: reply.int32.describe('While `starting`: of world generation; 100 while running; else 0.'),
    diskUsageMb: reply.int64.describe(
      'The larger of what is allocated and the lengths of the files; as last measured.',
    ),
    diskUsageKnown: reply.flag.describe('False: never measured.'),
    diskQuotaOverrideMb: reply.int64.describe('Set by an operator; 0 = none.'),
    diskQuotaEffectiveMb: reply.int64.describe('In force; 0: no quota.'),
    quotaExceeded: reply.flag.describe(
      'It takes more than its quota, or the servers of its account take more together than they may: it is stopped if it goes on ' +
        'to grow, and does not start before space is freed.',
    ),
    sftpEnabled: reply.flag,
    publicStatusEnabled: reply.flag,
    publicShowAddress: reply.flag,
    publicSlug: reply.text,
    waitingRoom: reply.flag.describe('Experimental: players are shown its start while they wait.'),
    clientVersions: reply.text.describe('Which clients can play: `auto`, `own` or `any` version. See UpdateServer.'),
    startupEtaSeconds: reply.int32.describe('While `starting`: what is left as its starts usually go; 0: not known.'),
  })
  .meta({ id: 'Server' });
