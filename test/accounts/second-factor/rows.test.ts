import { getBrowserSession } from '../../../src/accounts/browser-session-rows.ts';
import { openBrowserSession } from '../../../src/accounts/browser-sessions.ts';
import { hashToken } from '../../../src/kernel/ids.ts';
import * as rows from '../../../src/accounts/second-factor-rows.ts';
import { onEachStore } from '../../store/on-each.ts';
import { addPerson } from '../../support/store.ts';

onEachStore(
  'a second factor is offered anew until it is on, then stays as it is until it is removed',
  async (t, store) => {
    await addPerson(store, 'steve');
    const [userId, accountId] = ['usr_steve', 'acc_steve'];
    const visitor = { address: '192.0.2.1', userAgent: 'test' };
    const token = await store.write((tx) => openBrowserSession(tx, userId, visitor, 1));
    const isOn = async () => (await getBrowserSession(store, hashToken(token)))?.secondFactor;
    const offer = (key: string) => store.write((tx) => rows.offerSecondFactor(tx, userId, key));

    t.is(await rows.getSecondFactor(store, userId), undefined);
    t.true(await offer('first'));
    t.true(await offer('second'));
    t.deepEqual(
      { ...(await rows.getSecondFactor(store, userId)) },
      { userId, sealedKey: 'second', enabledAt: null, lastStep: 0 },
    );
    t.false(await store.write((tx) => rows.deleteSecondFactor(tx, userId)), 'an offered key is not a second factor');
    t.is(await isOn(), false);
    t.deepEqual(await rows.listSecondFactorUsers(store, accountId), []);

    await store.write((tx) => rows.enableSecondFactor(tx, userId, 1_800_000_000_000, 60_000_000));
    t.false(await offer('third'));
    await store.write((tx) => rows.takeStep(tx, userId, 60_000_001));
    const row = { userId, sealedKey: 'second', enabledAt: 1_800_000_000_000, lastStep: 60_000_001 };
    t.deepEqual({ ...(await rows.getSecondFactor(store, userId)) }, row);
    t.is(await isOn(), true);
    t.deepEqual(
      (await rows.listSecondFactorUsers(store, accountId)).map(({ id }) => id),
      [userId],
    );

    await store.write((tx) => rows.replaceRecoveryCodes(tx, userId, ['a', 'b']));
    await store.write((tx) => rows.replaceRecoveryCodes(tx, userId, ['b', 'c', 'd']));
    const take = (hash: string) => store.write((tx) => rows.takeRecoveryCode(tx, userId, hash));
    t.deepEqual([await take('a'), await take('b'), await take('b')], [false, true, false]);
    t.is(await rows.countRecoveryCodes(store, userId), 2);
    t.true(await store.write((tx) => rows.deleteSecondFactor(tx, userId)));
    t.is(await rows.countRecoveryCodes(store, userId), 0);
    t.is(await isOn(), false);
  },
);
