import test, { type ExecutionContext } from 'ava';
import { getMeta, setMeta } from '../../src/store/meta.ts';
import type { Store } from '../../src/store/store.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import { postgresUrl } from './postgres.ts';
import { type SilentLine, silentLine } from './silent-line.ts';
import { emptyStore, refused } from './support.ts';

const put = (store: Store, key: string) => store.write((tx) => setMeta(tx, key, ''));

/** A store on a line to PostgreSQL that a test breaks. */
async function bench(t: ExecutionContext): Promise<{ line: SilentLine; store: Store }> {
  t.timeout(300_000);
  const direct = await postgresUrl(t);
  const line = await silentLine(t, direct);
  return { line, store: await emptyStore(t, line.url) };
}

test.runIf(isHere('postgres'))(
  'a change that the database has stored is reported as stored if the confirmation is lost',
  async (t) => {
    const { line, store } = await bench(t);
    line.breakAtCommit('after');
    t.is(await store.write((tx) => setMeta(tx, 'alone', 'new').then(() => 'told')), 'told');
    t.is(await getMeta(store, 'alone'), 'new');

    line.breakAtCommit('after');
    const both = [put(store, 'first'), put(store, 'second')];
    const failing = store.write(async (tx) => {
      await setMeta(tx, 'third', '');
      throw new Error('refused by itself');
    });
    await t.throwsAsync(failing, { message: 'refused by itself' });
    await Promise.all(both);
    t.is(await getMeta(store, 'first'), '');
    t.is(await getMeta(store, 'third'), undefined);
    await put(store, 'later');
  },
);

test.runIf(isHere('postgres'))('a change is refused if its commit never reaches the database', async (t) => {
  const { line, store } = await bench(t);
  line.breakAtCommit('before');
  await refused(t, put(store, 'lost'), 'STORE_UNAVAILABLE');
  t.is(await getMeta(store, 'lost'), undefined);
  await put(store, 'later');
});

test.runIf(isHere('postgres'))(
  'a change whose confirmation is lost while the database goes away is reported once the database is back',
  async (t) => {
    const { line, store } = await bench(t);
    await put(store, 'before');
    const refusals = line.made();
    line.refuse(true);
    line.breakAtCommit('after');
    const write = put(store, 'key').then(
      () => 'stored',
      (error: unknown) => error,
    );
    await until(() => line.made() >= refusals + 2);
    line.refuse(false);
    t.is(await write, 'stored');
    t.is(await getMeta(store, 'key'), '');
  },
);
