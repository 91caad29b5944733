import type * as z from 'zod';
import type { ServerContext, ServerState } from '../../../machines/server-types.ts';
import type { EngineNodes } from '../../engines/engine.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { ServerRow } from '../rows.ts';
import { type ServerBlocks, type ServerNow, etaSeconds } from '../server-now.ts';
import type { Addresses } from './addresses.ts';
import type { PortMapping, Server } from './messages.ts';

/** Returns a server as its owner sees it: its settings (row) and its run (state, context). */
export type ServerView = (now: ServerNow) => z.input<typeof Server>;

/**
 * Returns the view for a role. Only owners and members see the webhook's URL, because anyone who knows it can post to
 * it.
 */
export function shownTo(role: Role, view: ReturnType<ServerView>): ReturnType<ServerView> {
  return isAtLeast(role, 'member') ? view : { ...view, alertWebhookUrl: '' };
}

/** Returns the number of players as a field of a reply; without it if unknown. */
export function playersOf({ state, context: { live } }: ServerNow): { playersOnline?: number } {
  return state === 'running' && live.players !== null ? { playersOnline: live.players } : {};
}

/** Server data that other rooms provide. */
interface ServerViewParts {
  blocks: ServerBlocks;
  config: { nodeLabel: string };
  clock: Clock;
  addresses: Addresses;
  disk: {
    view(
      row: ServerRow,
    ): Pick<z.input<typeof Server>, (`disk${string}` & keyof z.input<typeof Server>) | 'quotaExceeded'>;
  };
  publicStatuses: { of(serverId: string): { enabled: boolean; showAddress: boolean; slug: string | null } };
  serverPorts: { of(serverId: string): readonly Omit<z.input<typeof PortMapping>, 'host'>[] };
  /** The machines that games run on, if there are several. */
  nodes?: EngineNodes | undefined;
  /** Returns the name of a server's container, or of its swarm service; absent if games run in neither. */
  containerOf?: ((serverId: string) => string) | undefined;
}

/** Creates the view used by every reply that shows a server. */
export function createServerView(parts: ServerViewParts): ServerView {
  return (now) => view(now, parts);
}

function view(now: ServerNow, parts: ServerViewParts): z.input<typeof Server> {
  const { row, state, context } = now;
  const { installFailure } = context;
  const startFailure = parts.blocks.of(row.id, now) ?? context.startFailure;
  const publicStatus = parts.publicStatuses.of(row.id);
  const addr = parts.addresses.of(row);
  const forFront = parts.addresses.forFront(row);
  const node = parts.nodes?.whereIs(row.id);
  const host = parts.nodes === undefined ? addr.replace(/:\d+$/, '') : (node?.publicHost ?? '');
  return {
    id: row.id,
    name: row.name,
    hostname: row.hostname,
    accountId: row.accountId,
    addr,
    container: parts.containerOf?.(row.id) ?? row.container,
    state,
    type: row.type,
    version: row.version,
    ramMb: row.ramMb,
    plan: row.plan,
    region: row.region,
    nodeLabel: parts.nodes === undefined ? parts.config.nodeLabel : node?.name,
    motd: row.motd,
    properties: row.properties,
    idleTimeoutMinutes: row.idleTimeoutMinutes,
    awakeHours: row.awakeHours,
    awakeTimeZone: row.awakeTimeZone,
    ignoredPlayers: row.ignoredPlayers,
    tags: [...row.tags],
    alertWebhookUrl: row.alertWebhookUrl,
    sftpEnabled: row.sftpEnabled,
    bakedAt: context.bakedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lastActiveAt: context.live.lastActiveAt,
    ports: parts.serverPorts.of(row.id).map(({ slot, hostPort, containerPort, proto, label, wakes }) => ({
      slot,
      containerPort,
      hostPort,
      proto,
      label,
      wakes,
      host,
    })),
    modpackPlatform: row.modpackPlatform,
    modpackRef: row.modpackRef,
    modpackVersion: row.modpackVersion,
    installError: installFailure ? installFailure.raw || installFailure.summary : '',
    installErrorCode: installFailure?.code,
    installErrorSummary: installFailure?.summary,
    installErrorSuggestion: installFailure?.suggestion,
    startError: startFailure ? startFailure.raw || startFailure.summary : '',
    startErrorCode: startFailure?.code,
    startErrorSummary: startFailure?.summary,
    startErrorSuggestion: startFailure?.suggestion,
    ...startup(state, context),
    ...parts.disk.view(row),
    publicStatusEnabled: publicStatus.enabled,
    publicShowAddress: publicStatus.showAddress,
    publicSlug: publicStatus.slug ?? '',
    waitingRoom: row.waitingRoom,
    network: forFront === undefined ? null : { front: row.networkFront, address: forFront },
    clientVersions: row.clientVersions,
    jvmPreset: row.jvmPreset,
    jvmOptions: row.jvmOptions,
    builds: row.builds,
    refusedBuild: row.refusedBuild,
    update: row.pendingUpdate,
    startupEtaSeconds: state === 'starting' ? (etaSeconds(now, parts.clock.now()) ?? 0) : 0,
    stopsAt: context.announced?.at ?? null,
    stopIsRestart: context.announced?.type === 'RESTART',
    startupItem: startupItem(state, context),
  };
}

function startup(state: ServerState, { live }: ServerContext): { startupPhase: string; startupPercent: number } {
  if (state !== 'starting') return { startupPhase: '', startupPercent: state === 'running' ? 100 : 0 };
  return { startupPhase: live.phase, startupPercent: percentOf(live) };
}

/** Returns what is being downloaded or installed for a start; '' if nothing is. */
function startupItem(state: ServerState, { live: { phase, item = '' } }: ServerContext): string {
  return state === 'starting' && (phase === 'downloading' || phase === 'installing') ? item : '';
}

function percentOf({ phase, percent }: ServerContext['live']): number {
  if (phase === 'ready') return 100;
  const isMeasured = phase === 'generating_world' || phase === 'downloading';
  return isMeasured ? Math.min(100, Math.max(0, Math.trunc(percent))) : 0;
}
