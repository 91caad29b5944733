import dgram, { type SocketOptions } from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import test from 'ava';
import { forwardPorts, isPortFree } from '../../src/engines/process/port-forwarder.ts';
import { freePort } from '../support/service.ts';

// This file simulates a kernel without IPv6.
const { createSocket } = dgram;
dgram.createSocket = (options: SocketOptions | dgram.SocketType) => {
  const socket = createSocket(options as SocketOptions);
  if ((typeof options === 'string' ? options : options.type) !== 'udp6') return socket;
  socket.bind = () => {
    process.nextTick(() =>
      socket.emit('error', Object.assign(new Error('bind EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' })),
    );
    return socket;
  };
  return socket;
};
syncBuiltinESMExports();

test('UDP ports are allocated over IPv4 if IPv6 is off', async (t) => {
  const port = await freePort();
  t.true(await isPortFree(port, 'udp'));
  const taken = await forwardPorts([{ hostPort: port, containerPort: port, proto: 'udp' }], async () => false);
  t.teardown(() => taken.close());
  t.false(await isPortFree(port, 'udp'), 'the forwarder holds the port');
});
