import test from 'ava';
import * as z from 'zod';
import { createRegistryHttp } from '../../../src/kernel/registry/http.ts';
import { StatusError } from '../../../src/kernel/status.ts';
import { fakeClock } from '../../fakes/clock.ts';

function things(fetch: (url: URL) => Promise<Response>) {
  return createRegistryHttp({
    name: 'Things',
    baseUrl: 'https://api.example.com/v1',
    fileHosts: ['api.example.com'],
    headers: {},
    goneReason: 'GONE',
    clock: fakeClock(1_000_000),
    fetch: fetch as unknown as typeof globalThis.fetch,
  });
}

test('a download that is closed ends its connection, whether its first piece was read or not', async (t) => {
  for (const isRead of [false, true]) {
    const cancelled = Promise.withResolvers<void>();
    const endless = () =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(8)),
        cancel: () => cancelled.resolve(),
      });
    const http = things(async () => new Response(endless()));
    const opened = await http.open('https://api.example.com/thing.jar', 0, new AbortController().signal);
    if (isRead) t.is((await opened?.chunks.next())?.value?.length, 8);
    await opened?.close();
    await cancelled.promise;
  }
  t.pass('both bodies were cancelled');
});

test('an address in a registry’s answer that is no address is refused, and nothing is asked', async (t) => {
  const asked: string[] = [];
  const http = things(async (url) => {
    asked.push(url.href);
    return new Response('{}');
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
