/**
 * A further port is one server's, and leads to its game alone.
 * Never: a port of the service's own.
 */
import { isPortFree } from '../engines/process/port-forwarder.ts';
import { TELLS_OWNERS } from '../engines/process/sockets.ts';
import type { Store } from '../store/store.ts';
import { type ServerPorts, openServerPorts } from './ports.ts';

export interface OpenPortsOptions {
  store: Store;
  /** Ports that may be given out, both ends included. */
  range: { from: number; to: number };
  /** Games are processes of this machine, and so listen beside everything else that it keeps to itself. */
  onThisMachine: boolean;
  /** The service's own ports. */
  own: readonly { port: number }[];
}

/** Further ports of games, from those that are free on this machine. */
export function openPorts({ store, range, onThisMachine, own }: OpenPortsOptions): Promise<ServerPorts> {
  const reserved = new Set(own.map(({ port }) => port));
  const beside = onThisMachine ? { reserved, offered: TELLS_OWNERS } : {};
  return openServerPorts({ store, range, isFree: isPortFree, ...beside });
}
