import test from 'ava';
import { EMBEDDED_VERSIONS } from '../../src/game/catalogue/embedded.ts';
import { createCatalogue } from '../../src/game/catalogue/published.ts';
import { sandboxVersions } from '../../src/sandbox/versions.ts';
import { fakeClock } from '../fakes/clock.ts';

const HOUR_MS = 3_600_000;
const EMBEDDED = ['1.2', '1.1'];
const manifest = {
  latest: { release: '1.21.8', snapshot: '25w31a' },
  versions: [
    { id: '25w31a', type: 'snapshot', releaseTime: '2025-07-29T00:00:00+00:00' },
    { id: '1.21.7', type: 'release', releaseTime: '2025-06-30T00:00:00+00:00' },
    { id: '1.21.8', type: 'release', releaseTime: '2025-07-17T00:00:00+00:00' },
  ],
};
const published = { versions: ['1.21.8', '1.21.7'], latest: '1.21.8' };

/** A catalogue whose manifest comes from `answer`, with a list of the URLs it fetched. */
function setUp(answer: () => Response | Promise<Response>) {
  const clock = fakeClock();
  const asked: unknown[] = [];
  const fetch = async (url: unknown) => {
    asked.push(url);
    return answer();
  };
  return {
    clock,
    asked,
    catalogue: createCatalogue({ manifestUrl: 'http://manifest/', embedded: EMBEDDED, clock, fetch }),
  };
}

test('the catalogue lists releases newest first and fetches the manifest at most once an hour', async (t) => {
  const { clock, asked, catalogue } = setUp(() => Response.json(manifest));
  const answers = await Promise.all([catalogue.versions(), catalogue.versions(), catalogue.versions()]);
  for (const answer of answers) t.deepEqual(answer, published);
  await clock.advance(HOUR_MS - 1);
  t.deepEqual(await catalogue.versions(), published);
  t.is(asked.length, 1);
  await clock.advance(1);
  await catalogue.versions();
  t.is(asked.length, 2);
});

test('a caller cannot change the version list that the next caller gets', async (t) => {
  const { catalogue } = setUp(() => Response.json(manifest));
  (await catalogue.versions()).versions.length = 0;
  t.deepEqual(await catalogue.versions(), published);
});

test('a known version list survives a failed fetch, which is retried only after a while', async (t) => {
  let answer = () => Response.json(manifest);
  const { clock, asked, catalogue } = setUp(() => answer());
  await catalogue.versions();
  answer = () => new Response('', { status: 500 });
  await clock.advance(HOUR_MS);
  t.deepEqual(await catalogue.versions(), published);
  t.deepEqual(await catalogue.versions(), published);
  t.is(asked.length, 2);
  await clock.advance(300_000);
  await catalogue.versions();
  t.is(asked.length, 3);
});

test('callers get the old version list without waiting while a new one is fetched', async (t) => {
  let answer: () => Response | Promise<Response> = () => Response.json(manifest);
  const { clock, asked, catalogue } = setUp(() => answer());
  await catalogue.versions();
  const slow = Promise.withResolvers<Response>();
  answer = () => slow.promise;
  await clock.advance(HOUR_MS);
  for (let i = 0; i < 3; i++) t.deepEqual(await catalogue.versions(), published);
  t.is(asked.length, 2);
  slow.resolve(Response.json({ ...manifest, latest: { release: '1.21.7' } }));
  for (let i = 0; i < 1_000 && (await catalogue.versions()).latest !== '1.21.7'; i++) await clock.advance(0);
  t.is((await catalogue.versions()).latest, '1.21.7');
});

const unusable = test.macro({
  exec: async (t, answer: () => Response | Promise<Response>) => {
    const { catalogue } = setUp(answer);
    t.deepEqual(await catalogue.versions(), { versions: ['1.2', '1.1'], latest: '1.2' });
  },
  title: (name) => `the embedded list answers for ${name}`,
});
test('an unreachable host', unusable, () => Promise.reject(new TypeError('fetch failed')));
test('an error page', unusable, () => new Response('<html>', { status: 200 }));
test('unexpected JSON', unusable, () => Response.json({ versions: [{}] }));
test('a manifest without releases', unusable, () => Response.json({ ...manifest, versions: [] }));
test('an endless manifest', unusable, () => {
  const chunk = new Uint8Array(1024 * 1024);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
});

test('without a manifest URL the catalogue returns the embedded list and sends no request', async (t) => {
  const fetch = () => t.fail();
  const catalogue = createCatalogue({ manifestUrl: '', embedded: EMBEDDED, clock: fakeClock(), fetch });
  t.deepEqual(await catalogue.versions(), { versions: ['1.2', '1.1'], latest: '1.2' });
});

test('the embedded list names each release once and includes every sandbox version', (t) => {
  t.is(new Set(EMBEDDED_VERSIONS).size, EMBEDDED_VERSIONS.length);
  for (const version of sandboxVersions()) t.true(EMBEDDED_VERSIONS.includes(version), version);
  for (const version of EMBEDDED_VERSIONS) t.regex(version, /^\d+\.\d+(\.\d+)?$/);
});
