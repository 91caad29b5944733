import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, BlockList, type Socket, connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { type HttpServerOptions, createHttpServer } from '../../src/http/http-server.ts';

/** A server that answers at once, and at `/slow` when it is told to. */
async function serve(t: ExecutionContext, options: HttpServerOptions) {
  const slow = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/slow') {
      asked.resolve();
      await slow.promise;
    }
    ctx.body = 'done';
  });
  const server = createHttpServer(app, options).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    asked: asked.promise,
    answerSlow: slow.resolve,
    /** Opens a connection and says nothing; resolves when the server has it, or has closed it. */
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

test('silent connections of one address leave the others their places', async (t) => {
  const it = await serve(t, { mostConnections: 50, mostOfAddress: 10 });
  const silent = [];
  for (let n = 0; n < 30; n++) silent.push(await it.dial('127.0.0.1'));
  t.is(await it.ask('127.0.0.1'), 'closed', 'it has its share');
  t.is(await it.ask('127.0.0.2'), 'done');
  silent[0]?.destroy();
  for (let answer = 'closed'; answer === 'closed';) answer = await it.ask('127.0.0.1');
  t.pass('and one again when one of its own has gone');
});

test('silent connections of many addresses make room for whoever comes, and work in progress goes on', async (t) => {
  const it = await serve(t, { mostConnections: 40, mostOfAddress: 10 });
  const slow = it.ask('127.0.9.9', '/slow');
  await it.asked;
  for (let n = 0; n < 200; n++) await it.dial(`127.0.0.${(n % 20) + 1}`);
  for (let n = 0; n < 30; n++) t.is(await it.ask(`127.0.1.${n + 1}`), 'done');
  it.answerSlow();
  t.is(await slow, 'done');
});

test('a reverse proxy is not one client', async (t) => {
  const trusted = new BlockList();
  trusted.addAddress('127.0.0.1');
  const it = await serve(t, { trusted, mostConnections: 50, mostOfAddress: 10 });
  for (let n = 0; n < 30; n++) await it.dial('127.0.0.1');
  t.is(await it.ask('127.0.0.1'), 'done');
});
