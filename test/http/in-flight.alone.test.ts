import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type Socket, connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { api } from '../support/api-harness.ts';
import { until } from '../support/until.ts';

/** The most unanswered calls of an account. It exceeds the connection limit of an address. */
const MOST = 600;
const OF_ADDRESS = 200;
const PATIENCE_MS = 30_000;

test('an account with 600 unanswered calls gets 429 until one ends, and other accounts are not affected', async (t) => {
  const it = await api(t);
  const other = await it.stranger();
  const { key: secondKey } = await it.mint(['servers:read', 'servers:write']);
  const keys = [it.key, secondKey];
  let arrived = 0;
  const onArrival = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.method === 'POST') arrived += 1;
  };
  subscribe('http.server.request.start', onArrival);
  t.teardown(() => unsubscribe('http.server.request.start', onArrival));

  /** Makes calls whose bodies never arrive in full, from three networks and with two keys. */
  async function hold(): Promise<{ sockets: Socket[]; answers: string[] }> {
    const answers: string[] = [];
    const sockets = await Promise.all(
      Array.from({ length: MOST }, async (_, n) => {
        const localAddress = `127.0.${Math.floor(n / OF_ADDRESS)}.1`;
        const socket = connect({ host: '127.0.0.1', port: it.port, localAddress }).on('error', () => {});
        t.teardown(() => socket.destroy());
        socket.on('data', (bytes: Buffer) => answers.push(bytes.toString()));
        await once(socket, 'connect');
        const headers = `Host: a\r\nx-api-key: ${keys[n % 2]}\r\nContent-Length: 99`;
        socket.write(`POST /v1/servers HTTP/1.1\r\n${headers}\r\n\r\n{`);
        return socket;
      }),
    );
    // The keys are cached by now, so each call takes its slot within the turn in which it arrives.
    await until({ what: 'all calls have arrived', withinMs: PATIENCE_MS }, () => arrived === MOST);
    arrived = 0;
    await setImmediate();
    return { sockets, answers };
  }

  const ask = (key = it.key) => it.call('GET', '/v1/servers', { key });
  const isFull = async () => (await ask()).status === 429;

  for (const key of keys) t.is((await ask(key)).status, 200);
  for (const round of ['first', 'second, after all calls of the first have ended']) {
    const { sockets, answers } = await hold();
    const refused = await ask(secondKey);
    t.deepEqual([refused.status, refused.reason, refused.json['code']], [429, 'TOO_MANY_CALLS', 8], round);
    t.is(refused.headers.get('retry-after'), '1');
    t.regex(refused.text, /"limit":"600"/);
    t.is((await ask(other)).status, 200, 'another account is not affected');
    t.deepEqual(answers, [], 'none of the 600 calls was refused');
    sockets[0]?.destroy();
    await until({ what: 'a place is free', withinMs: PATIENCE_MS }, async () => !(await isFull()));
    for (let n = 0; n < 5; n++) t.is((await ask()).status, 200, 'an answered call frees its slot');
    for (const socket of sockets) socket.destroy();
    await until({ what: 'a place is free', withinMs: PATIENCE_MS }, async () => !(await isFull()));
  }
});
