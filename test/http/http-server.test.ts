import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, BlockList, type Socket, connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { type HttpServerOptions, createHttpServer } from '../../src/http/http-server.ts';
import { MIB } from '../../src/kernel/units.ts';
import { until } from '../support/until.ts';

/** A server that answers at once, and at `/slow` after `answerSlow` is called. */
async function serve(t: ExecutionContext, options: HttpServerOptions) {
  const slow = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const app = new Koa();
  const atWork = { now: 0, most: 0 };
  app.use(async (ctx) => {
    atWork.most = Math.max(atWork.most, ++atWork.now);
    if (ctx.path === '/slow') {
      asked.resolve();
      await slow.promise;
    }
    atWork.now--;
    // More than the system buffers for a client that does not read.
    ctx.body = ctx.path === '/large' ? Buffer.alloc(64 * MIB) : 'done';
  });
  const server = createHttpServer(app, options);
  // On a busy machine, a connection that has sent nothing would reach this limit during a test.
  server.headersTimeout = 0;
  server.listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    asked: asked.promise,
    answerSlow: slow.resolve,
    atWork,
    server,
    /** Opens a connection and sends nothing. Resolves once the server has accepted it. */
    async dial(localAddress: string): Promise<Socket> {
      const accepted = once(server, 'connection');
      const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {});
      t.teardown(() => socket.destroy());
      await accepted;
      return socket.resume();
    },
    async ask(localAddress: string, path = '/'): Promise<string> {
      const asking = request({ host: '127.0.0.1', port, path, localAddress, agent: false }).end();
      try {
        const [answer] = (await once(asking, 'response')) as [IncomingMessage];
        return (await answer.toArray()).join('');
      } catch {
        return 'closed';
      }
    },
  };
}

test('idle connections from one address leave room for other addresses', async (t) => {
  const it = await serve(t, { mostConnections: 50, mostOfAddress: 10 });
  const silent = [];
  for (let n = 0; n < 30; n++) silent.push(await it.dial('127.0.0.1'));
  t.is(await it.ask('127.0.0.1'), 'closed', 'the address has used its share');
  t.is(await it.ask('127.0.0.2'), 'done');
  silent[0]?.destroy();
  for (let answer = 'closed'; answer === 'closed';) answer = await it.ask('127.0.0.1');
  t.pass('a closed connection frees a slot for its address');
});

test('idle connections from many addresses make room for new ones, and work in progress goes on', async (t) => {
  const it = await serve(t, { mostConnections: 40, mostOfAddress: 10 });
  const slow = it.ask('127.0.9.9', '/slow');
  await it.asked;
  for (let n = 0; n < 200; n++) await it.dial(`127.0.0.${(n % 20) + 1}`);
  for (let n = 0; n < 30; n++) t.is(await it.ask(`127.0.1.${n + 1}`), 'done');
  it.answerSlow();
  t.is(await slow, 'done');
});

test('connections through a trusted reverse proxy do not count as one client', async (t) => {
  const trusted = new BlockList();
  trusted.addAddress('127.0.0.1');
  const it = await serve(t, { trusted, mostConnections: 50, mostOfAddress: 10 });
  for (let n = 0; n < 30; n++) await it.dial('127.0.0.1');
  t.is(await it.ask('127.0.0.1'), 'done');
});

test('the connections of one network are limited, however many addresses it uses', async (t) => {
  const it = await serve(t, { mostConnections: 50, mostOfAddress: 10, mostOfNetwork: 20 });
  for (let n = 0; n < 30; n++) await it.dial(`127.0.0.${n + 1}`);
  t.is(await it.ask('127.0.0.99'), 'closed');
  t.is(await it.ask('127.0.1.1'), 'done');
});

test('unfinished request bodies from one network leave room for other networks', async (t) => {
  const it = await serve(t, { mostConnections: 40, mostOfAddress: 10 });
  for (let n = 0; n < 60; n++) {
    const socket = await it.dial(`127.0.0.${(n % 50) + 1}`);
    socket.write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf');
    if (n < 40) await once(it.server, 'request');
  }
  for (let n = 0; n < 30; n++) t.is(await it.ask(`127.0.${n + 1}.1`), 'done');
});

const ASKED_SLOWLY = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n';

test('pipelined requests are handled at most four at a time, and all are answered', async (t) => {
  const it = await serve(t, {});
  const socket = await it.dial('127.0.0.1');
  let answers = '';
  socket.on('data', (bytes: Buffer) => (answers += bytes.toString()));
  socket.write(ASKED_SLOWLY.repeat(30));
  await it.asked;
  it.answerSlow();
  await until(() => answers.split('done').length === 31);
  t.is(it.atWork.most, 4);
});

test('a connection with hundreds of pipelined requests is closed', async (t) => {
  const it = await serve(t, {});
  const socket = await it.dial('127.0.0.1');
  socket.write(ASKED_SLOWLY.repeat(200));
  await once(socket, 'close');
  t.is(it.atWork.most, 4);
});

test('a client that does not read its answer is disconnected, but a client waiting for its answer is not', async (t) => {
  const it = await serve(t, { stalledMs: 200 });
  const slow = it.ask('127.0.0.2', '/slow');
  await it.asked;
  const accepted = once(it.server, 'connection') as Promise<[Socket]>;
  const socket = await it.dial('127.0.0.1');
  const [ours] = await accepted;
  socket.pause().write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(ours, 'close');
  it.answerSlow();
  t.is(await slow, 'done');
});
