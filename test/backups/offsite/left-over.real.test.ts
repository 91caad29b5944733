import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { createOffSite } from '../../../src/backups/offsite/offsite.ts';
import { createS3 } from '../../../src/backups/offsite/s3.ts';
import { KEY_SCOPES } from '../../../src/http/scopes.ts';
import { isHere } from '../../support/needs.ts';
import { BUCKET, badLine, startS3 } from '../../support/s3.ts';
import { backUp, find, sleeping } from '../parts.ts';

test.runIf(isHere('s3'))(
  'an off-site archive without a backup is an orphan, and its removal leaves other objects alone',
  async (t) => {
    const s3 = await startS3();
    t.teardown(() => s3.remove());
    const line = await badLine(t, s3);
    const location = `s3://${BUCKET}/left`;
    const it = await sleeping(t, { world: { room: { offSite: createOffSite(location, createS3(line.options)) } } });
    await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
    const { key } = await it.mint(KEY_SCOPES);
    const list = async () => (await it.call('GET', '/v1/operator/orphans', { key })).json;
    const remove = (id: string, kind = 'offsite') =>
      it.call('POST', '/v1/operator/orphans:remove', {
        key,
        body: { kind, id, reason: 'of a lost database' },
      });

    const { id } = await backUp(it, 'lobby');
    await it.until(async () => (await find(it, 'lobby', id))?.offSite === true);
    const bucket = s3.offSite('left').bucket(location);
    await bucket.put('castle/bak_of_before.tar.zst', Buffer.from('archive'));
    await bucket.put('notes.txt', Buffer.from('a file of somebody else'));
    const { orphans } = (await list()) as { orphans: { kind: string; id: string; at: string }[] };
    t.deepEqual(
      orphans.map(({ kind, id }) => [kind, id]),
      [['offsite', 'castle/bak_of_before']],
    );
    t.true(Date.parse(orphans[0]?.at ?? '') > 0);

    t.is((await remove(`lobby/${id}`)).reason, 'ORPHAN_NOT_FOUND');
    line.fault = () => 'away';
    t.deepEqual(await list(), { orphans: [], unread: ['offsite'] });
    t.is((await remove('castle/bak_of_before')).reason, 'BACKUP_STORE_AWAY');
    await mkdir(join(it.dataDir, 'servers', 'old-lobby'));
    const asked = line.seen.length;
    t.is((await remove('old-lobby', 'data')).status, 200);
    t.is(line.seen.length, asked, 'a local orphan is removed without a call to the store');
    line.fault = () => undefined;
    t.is((await remove('castle/bak_of_before')).status, 200);
    await it.until(async () => (await bucket.head('castle/bak_of_before.tar.zst')) === undefined);
    t.deepEqual(await list(), { orphans: [], unread: [] });
    t.deepEqual(
      (await bucket.list('')).map((object) => object.key),
      [`lobby/${id}.tar.zst`, 'notes.txt'],
    );
  },
);
