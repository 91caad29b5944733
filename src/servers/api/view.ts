import type { z } from 'zod';
import type { Failure, ServerContext, ServerState } from '../../../machines/server-types.ts';
import type { Services } from '../../http/services.ts';
import type { ServerNow } from '../server-now.ts';
import type { Server } from './messages.ts';

/** The port players' clients use unless told otherwise. */
const DEFAULT_PORT = 25_565;

/** What of the services shows in a server's view. */
export type ViewServices = Pick<
  Services,
  'config' | 'playersPort' | 'disk' | 'suspensions' | 'publicStatuses' | 'serverPorts'
>;

/** A server as its owner sees it: what is set (row) and what its run shows (state, context). */
export function serverView({ row, state, context }: ServerNow, services: ViewServices): z.input<typeof Server> {
  const { installFailure } = context;
  const startFailure = suspensionOf(row.id, services) ?? context.startFailure;
  const publicStatus = services.publicStatuses.of(row.id);
  return {
    id: row.id,
    name: row.name,
    hostname: row.hostname,
    accountId: row.accountId,
    addr: addressOf(row.hostname, services),
    container: row.container,
    state,
    type: row.type,
    version: row.version,
    ramMb: row.ramMb,
    plan: row.plan,
    region: row.region,
    nodeLabel: services.config.nodeLabel,
    motd: row.motd,
    properties: row.properties,
    idleTimeoutMinutes: row.idleTimeoutMinutes,
    alertWebhookUrl: row.alertWebhookUrl,
    sftpEnabled: row.sftpEnabled,
    bakedAt: context.bakedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    lastActiveAt: context.live.lastActiveAt,
    ports: services.serverPorts.of(row.id).map(({ slot, hostPort, containerPort, proto, label }) => ({
      slot,
      containerPort,
      hostPort,
      proto,
      label,
    })),
    modpackPlatform: row.modpackPlatform,
    modpackRef: row.modpackRef,
    modpackVersion: row.modpackVersion,
    installError: installFailure?.raw,
    installErrorCode: installFailure?.code,
    installErrorSummary: installFailure?.summary,
    installErrorSuggestion: installFailure?.suggestion,
    startError: startFailure?.raw,
    startErrorCode: startFailure?.code,
    startErrorSummary: startFailure?.summary,
    startErrorSuggestion: startFailure?.suggestion,
    ...startup(state, context),
    ...services.disk.view(row),
    publicStatusEnabled: publicStatus.enabled,
    publicShowAddress: publicStatus.showAddress,
    publicSlug: publicStatus.slug ?? '',
  };
}

/** A suspended server cannot start, and why is said where other failures of a start are. */
function suspensionOf(id: string, { suspensions }: ViewServices): Failure | undefined {
  const found = suspensions.of(id);
  if (found === undefined) return undefined;
  const suggestion = 'Ask the operator of this installation.';
  return { code: 'suspended', summary: `Suspended: ${found.reason}`, suggestion, raw: '' };
}

/** Where players connect, with the port where it is not the game's own. */
export function addressOf(
  hostname: string,
  { config, playersPort }: Pick<ViewServices, 'config' | 'playersPort'>,
): string {
  const port = playersPort();
  const host = `${hostname}.${config.publicHost}`;
  return port === DEFAULT_PORT ? host : `${host}:${port}`;
}

function startup(state: ServerState, { live }: ServerContext): { startupPhase: string; startupPercent: number } {
  if (state !== 'starting') return { startupPhase: '', startupPercent: 0 };
  return { startupPhase: live.phase, startupPercent: percentOf(live) };
}

function percentOf({ phase, percent }: ServerContext['live']): number {
  if (phase === 'ready') return 100;
  return phase === 'generating_world' ? Math.min(100, Math.max(0, Math.trunc(percent))) : 0;
}
