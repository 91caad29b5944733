import test from 'ava';
import * as z from 'zod';
import { createRegistryHttp } from '../../../src/kernel/registry/http.ts';
import { StatusError } from '../../../src/kernel/status.ts';
import { fakeClock } from '../../fakes/clock.ts';

test('an address in a registry’s answer that is no address is refused, and nothing is asked', async (t) => {
  const asked: string[] = [];
  const http = createRegistryHttp({
    name: 'Things',
    baseUrl: 'https://api.example.com/v1',
    fileHosts: [],
    headers: {},
    goneReason: 'GONE',
    clock: fakeClock(1_000_000),
    fetch: (async (url: URL) => {
      asked.push(url.href);
      return new Response('{}');
    }) as unknown as typeof globalThis.fetch,
  });
  const { signal } = new AbortController();
  for (const address of ['https://[', 'thing.jar', '']) {
    for (const asking of [
      () => http.json(address, z.object({}), signal),
      () => http.bytes(address, 100, signal),
      () => http.open(address, 0, signal),
    ]) {
      const { code, reason, message } = await t.throwsAsync<StatusError>(asking, { instanceOf: StatusError });
      t.deepEqual([code, reason], ['FAILED_PRECONDITION', 'DOWNLOAD_REFUSED']);
      t.is(message, 'Things lists an invalid download address.');
    }
  }
  t.deepEqual(asked, []);
  t.deepEqual(await http.json('/things', z.object({}), signal), {});
  t.deepEqual(asked, ['https://api.example.com/v1/things']);
});
