import test from 'ava';
import * as z from 'zod';
import { askOnce } from '../../../src/kernel/registry/http.ts';

const Name = z.object({ name: z.string() });

function ask(answer: Response | 'never', withinMs = 60_000) {
  const fetch = (async (_url: string, { signal }: { signal: AbortSignal }) => {
    if (answer !== 'never') return answer;
    // A timeout signal alone does not keep the process running.
    const timer = setInterval(() => {}, 1_000);
    return await new Promise<Response>((_, reject) =>
      signal.addEventListener('abort', () => {
        clearInterval(timer);
        reject(signal.reason as Error);
      }),
    );
  }) as unknown as typeof globalThis.fetch;
  return askOnce('https://example.com', Name, { withinMs, maxBytes: 100, fetch });
}

test('askOnce returns the parsed body of a 200 and no body for other statuses', async (t) => {
  t.deepEqual((await ask(Response.json({ name: 'Steve', id: 1 }))).said, { name: 'Steve' });
  for (const status of [204, 404, 429, 500]) {
    const { said, response } = await ask(new Response(null, { status }));
    t.deepEqual([said, response.status], [undefined, status]);
  }
});

test('askOnce rejects an oversized, malformed or missing response', async (t) => {
  await t.throwsAsync(ask(Response.json({ name: 'x'.repeat(200) })));
  await t.throwsAsync(ask(Response.json({ called: 'Steve' })), { instanceOf: z.ZodError });
  await t.throwsAsync(ask(new Response('<html>')), { instanceOf: SyntaxError });
  await t.throwsAsync(ask('never', 10), { name: 'TimeoutError' });
});
