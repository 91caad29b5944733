import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { onceEnded } from '../../src/http/ended.ts';
import { filesApi } from '../files/files-api.ts';
import { until } from '../support/until.ts';

test('end listeners of a response run once and in order, and a late one still runs', async (t) => {
  const told: string[] = [];
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    for (const name of ['first', 'second']) onceEnded(response, () => told.push(name));
    response.end('done');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const [answer] = (await once(get({ port: (server.address() as AddressInfo).port, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  await answer.toArray();
  await until(() => told.length >= 2);
  onceEnded(responses[0]!, () => told.push('late'));
  t.deepEqual(told, ['first', 'second', 'late']);
});

test('streams and downloads cause no Node warnings', async (t) => {
  const { put, call, origin, key } = await filesApi(t);
  put('world.dat', 'x'.repeat(100_000));
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  t.is((await call('GET', '/v1/servers/abc/file:download?path=world.dat')).text.length, 100_000);
  const stream = await fetch(`${origin}/v1/servers/abc/logs/stream`, { headers: { 'x-api-key': key } });
  t.is(stream.status, 200);
  await stream.text();
  // Node emits warnings in the next turn of the event loop.
  await turn();
  t.deepEqual(
    warnings.map(({ name, stack }) => `${name}: ${stack}`),
    [],
  );
});
