import dgram, { type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import test from 'ava';
import { forwardPorts } from '../../src/engines/process/port-forwarder.ts';
import { echoesUdp } from '../conformance/engine.ts';
import { freePort } from '../support/service.ts';

// Only a raw socket can send from port 0. This file records its sockets and emits such a datagram on one of them.
const made: Socket[] = [];
const { createSocket } = dgram;
dgram.createSocket = (options: SocketOptions | dgram.SocketType) => {
  const socket = createSocket(options as SocketOptions);
  made.push(socket);
  return socket;
};
syncBuiltinESMExports();

test('a datagram that cannot be answered is dropped without affecting others', async (t) => {
  const [hostPort, containerPort] = [await freePort(), await freePort()];
  let asked = 0;
  const game = createSocket('udp4').bind(containerPort, '127.0.0.1');
  await once(game, 'listening');
  t.teardown(() => game.close());
  game.on('message', (datagram, from) => {
    asked += 1;
    game.send(datagram, from.port, from.address);
  });
  const forwarder = await forwardPorts([{ hostPort, containerPort, proto: 'udp' }], async () => true);
  t.teardown(() => forwarder.close());
  const [outside] = made;
  const stranger: RemoteInfo = { address: '::ffff:127.0.0.1', family: 'IPv6', port: 0, size: 4 };
  outside?.emit('message', Buffer.from('ping'), stranger);
  t.true(await echoesUdp(hostPort), 'later datagrams are answered');
  t.is(asked, 1, 'the dropped datagram does not reach the game');
});
