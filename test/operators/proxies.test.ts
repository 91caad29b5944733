import test from 'ava';
import { api } from '../support/api-harness.ts';

test('the operator API lists the proxies with their state', async (t) => {
  const it = await api(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(['operator']);
  const { json } = await it.call('GET', '/v1/operator/proxies', { key });
  t.deepEqual(json, {
    proxies: [
      {
        id: 'prx_1',
        name: 'edge',
        version: '1.0.0+abc',
        since: '2023-11-14T22:13:20.000Z',
        connected: true,
        listening: true,
        host: '0.0.0.0',
        port: 25_565,
        draining: false,
        players: 2,
        waiting: 1,
        lagMs: 1,
      },
    ],
  });
});
