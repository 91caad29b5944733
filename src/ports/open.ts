/** Publishes extra ports, each leading to the game of one server. Never publishes a port of the service itself. */
import { isPortFree } from '../engines/process/port-forwarder.ts';
import { TELLS_OWNERS } from '../engines/process/sockets.ts';
import type { Store } from '../store/store.ts';
import { type ServerPorts, openServerPorts } from './ports.ts';

export interface OpenPortsOptions {
  store: Store;
  /** Ports that can be assigned, inclusive. */
  range: { from: number; to: number };
  /** Whether games are processes on this machine and so share its ports with other programs. */
  onThisMachine: boolean;
  /** The service's own ports. */
  own: readonly { port: number }[];
}

/** Opens the extra ports of games, assigned from the ports free on this machine. */
export function openPorts({ store, range, onThisMachine, own }: OpenPortsOptions): Promise<ServerPorts> {
  const reserved = new Set(own.map(({ port }) => port));
  const beside = onThisMachine ? { reserved, offered: TELLS_OWNERS } : {};
  return openServerPorts({ store, range, isFree: isPortFree, ...beside });
}
