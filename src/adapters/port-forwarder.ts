import { createSocket } from 'node:dgram';
import type { RemoteInfo, Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { PublishedPort } from '../ports.ts';

/** Gives ports of this machine's loopback to the outside. */
export interface Forwarder {
  close(): void;
}

/** Strangers use these ports, so what they may take is bounded: connections, and senders of datagrams, at once. */
const MAX_PEERS = 256;
/** A sender of datagrams that says nothing for so long is forgotten. */
const UDP_IDLE_MS = 60_000;

/**
 * Opens all of the ports, at every address of this machine; each leads to `containerPort` at 127.0.0.1. Rejects, with none
 * of them open, where one is taken.
 */
export async function forwardPorts(ports: readonly PublishedPort[]): Promise<Forwarder> {
  const open: Forwarder[] = [];
  const close = () => {
    for (const each of open.splice(0)) each.close();
  };
  try {
    for (const port of ports) open.push(await (port.proto === 'tcp' ? forwardTcp(port) : forwardUdp(port)));
  } catch (error) {
    close();
    throw error;
  }
  return { close };
}

async function forwardTcp({ hostPort, containerPort }: PublishedPort): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (stranger) => {
    const game = connect({ port: containerPort, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [stranger, game]) {
      sockets.add(socket.setNoDelay());
      socket.once('close', () => sockets.delete(socket));
    }
    // Whichever breaks takes the other one along.
    const end = (error: Error | null | undefined) => {
      if (error) for (const socket of [stranger, game]) socket.destroy();
    };
    pipeline(stranger, game, end);
    pipeline(game, stranger, end);
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
}

async function forwardUdp({ hostPort, containerPort }: PublishedPort): Promise<Forwarder> {
  const outside = createSocket({ type: 'udp6', reuseAddr: false });
  const peers = new Map<string, { socket: UdpSocket; idle: NodeJS.Timeout }>();

  /** A socket for each sender, so that answers find the way back. */
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

  outside.on('message', (datagram, from) => {
    const peer = peerOf(from);
    peer?.idle.refresh();
    peer?.socket.send(datagram, containerPort, '127.0.0.1');
  });
  outside.bind(hostPort);
  await once(outside, 'listening');
  outside.on('error', () => {});
  outside.unref();
  return {
    close() {
      outside.close();
      for (const { socket, idle } of peers.values()) {
        clearTimeout(idle);
        socket.close();
      }
      peers.clear();
    },
  };
}

/** Whether a port of this machine can be given to the outside now. */
export async function isPortFree(hostPort: number, proto: PublishedPort['proto']): Promise<boolean> {
  try {
    (await forwardPorts([{ hostPort, proto, containerPort: hostPort }])).close();
    return true;
  } catch {
    return false;
  }
}
