import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import Docker from 'dockerode';
import { swarmAgents } from '../../src/engines/swarm/agents.ts';
import type { Manager } from '../../src/engines/swarm/manager.ts';
import type { Task } from '../../src/engines/swarm/task.ts';

test('a call to an agent fails on no connection that the agent closes when it is idle', async (t) => {
  const secret = 'between service and agents';
  const psk = createHash('sha256').update(secret).digest();
  const tls = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', maxVersion: 'TLSv1.2' } as const;
  const used = new WeakSet<object>();
  const agent = createServer({ ...tls, pskCallback: () => psk }, ({ socket }, response) => {
    // The idle time of the connection ends at the instant of the second request.
    if (used.has(socket)) socket.destroy();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"Id":"c"}');
    used.add(socket);
  }).listen(0, '127.0.0.1');
  t.teardown(() => agent.close());
  await once(agent, 'listening');
  const { port } = agent.address() as AddressInfo;
  const task = {
    NodeID: 'n1',
    DesiredState: 'running',
    Status: {
      State: 'running',
      PortStatus: { Ports: [{ Protocol: 'tcp', TargetPort: 8_475, PublishedPort: port, PublishMode: 'host' }] },
    },
  } as unknown as Task;
  const agents = swarmAgents({
    docker: new Docker(),
    manager: {
      tasks: async () => [task],
      nodes: async () => [{ ID: 'n1', Status: { Addr: '127.0.0.1' } }],
    } as Partial<Manager> as Manager,
    networks: { ensure: async () => undefined, peers: async () => [] },
    installation: 'i1',
    secret,
    image: async () => 'any',
    nodeSocket: '/docker.sock',
  });
  const engine = await agents.on('n1');
  for (let call = 0; call < 3; call += 1) t.is((await engine.getContainer('c').inspect()).Id, 'c');
});
