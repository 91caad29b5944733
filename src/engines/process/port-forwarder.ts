import { type RemoteInfo, type Socket as UdpSocket, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { PublishedPort } from '../engine.ts';

/** Opens ports of this machine's loopback to the outside. */
export interface Forwarder {
  close(): void;
}

/** Limits the concurrent connections of a port, and its senders of datagrams, because strangers use these ports. */
const MAX_PEERS = 256;
/** A sender of datagrams that is silent for this long is forgotten. */
const UDP_IDLE_MS = MINUTE_MS;
/** Error codes of systems without IPv6. */
const IPV6_OFF = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL', 'EPROTONOSUPPORT']);

/** Returns whether the program at a port's target is meant for strangers. */
export type IsMeant = (port: PublishedPort) => Promise<boolean>;

/**
 * Opens all ports, at every address of this machine. Each leads to `containerPort` at 127.0.0.1. `isMeant` is called
 * for every connection and every datagram, because private services listen on loopback too. Rejects if a port is taken,
 * and leaves none of them open.
 */
export async function forwardPorts(ports: readonly PublishedPort[], isMeant: IsMeant): Promise<Forwarder> {
  const open: Forwarder[] = [];
  const close = () => {
    for (const each of open.splice(0)) each.close();
  };
  try {
    for (const port of ports) {
      const forward = port.proto === 'tcp' ? forwardTcp : forwardUdp;
      open.push(await forward(port, () => isMeant(port)));
    }
  } catch (error) {
    close();
    throw error;
  }
  return { close };
}

type Forward = (port: PublishedPort, isMeant: () => Promise<boolean>) => Promise<Forwarder>;

const forwardTcp: Forward = async ({ hostPort, containerPort }, isMeant) => {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket.setNoDelay());
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  async function join(stranger: Socket): Promise<void> {
    if (!(await isMeant())) stranger.destroy();
    // The connection may have ended, or have been closed, during the check.
    if (stranger.destroyed) return;
    const game = keep(connect({ port: containerPort, host: '127.0.0.1', allowHalfOpen: true }));
    // If one connection breaks, the other one closes too.
    const end = (error: Error | null | undefined) => {
      if (error) for (const socket of [stranger, game]) socket.destroy();
    };
    pipeline(stranger, game, end);
    pipeline(game, stranger, end);
  }
  const server = createServer({ allowHalfOpen: true }, (stranger) => {
    stranger.on('error', () => stranger.destroy());
    void join(keep(stranger));
  });
  server.maxConnections = MAX_PEERS;
  server.listen(hostPort);
  await once(server, 'listening');
  server.on('error', () => {});
  server.unref();
  return {
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

const forwardUdp: Forward = async ({ hostPort, containerPort }, isMeant) => {
  const outside = await bindUdp(hostPort);
  let waiting = 0;
  let closed = false;
  const peers = new Map<string, { socket: UdpSocket; idle: NodeJS.Timeout }>();

  /**
   * Returns a separate socket for each sender, so that answers find the way back. Undefined if there are too many
   * senders.
   */
  function peerOf({ address, port }: RemoteInfo) {
    const key = `${address} ${port}`;
    const known = peers.get(key);
    if (known || peers.size >= MAX_PEERS) return known;
    const socket = createSocket('udp4');
    const forget = () => {
      if (peers.delete(key)) socket.close();
    };
    socket.on('message', (datagram) => outside.send(datagram, port, address));
    socket.on('error', forget);
    const peer = { socket, idle: setTimeout(forget, UDP_IDLE_MS).unref() };
    peers.set(key, peer);
    return peer;
  }

  async function pass(datagram: Buffer, from: RemoteInfo): Promise<void> {
    // Drop datagrams rather than use much memory. A datagram from port 0, which only a raw socket sends, cannot be
    // answered.
    if (waiting >= MAX_PEERS || from.port === 0) return;
    waiting++;
    const passes = await isMeant();
    waiting--;
    if (!passes || closed) return;
    const peer = peerOf(from);
    peer?.idle.refresh();
    peer?.socket.send(datagram, containerPort, '127.0.0.1');
  }

  outside.on('message', (datagram, from) => void pass(datagram, from));
  outside.on('error', () => {});
  outside.unref();
  return {
    close() {
      closed = true;
      outside.close();
      for (const { socket, idle } of peers.values()) {
        clearTimeout(idle);
        socket.close();
      }
      peers.clear();
    },
  };
};

/** Binds at every address of this machine, only by IPv4 if IPv6 is off. */
export async function bindUdp(port: number): Promise<UdpSocket> {
  try {
    return await bound(createSocket('udp6'), port);
  } catch (error) {
    if (!IPV6_OFF.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return await bound(createSocket('udp4'), port);
  }
}

async function bound(socket: UdpSocket, port: number): Promise<UdpSocket> {
  socket.bind(port);
  try {
    await once(socket, 'listening');
    return socket;
  } catch (error) {
    // A socket that could not be bound stays open.
    socket.close();
    throw error;
  }
}

/** Returns whether a port of this machine can currently be opened to the outside. */
export async function isPortFree(hostPort: number, proto: PublishedPort['proto']): Promise<boolean> {
  try {
    (await forwardPorts([{ hostPort, proto, containerPort: hostPort }], async () => false)).close();
    return true;
  } catch {
    return false;
  }
}
