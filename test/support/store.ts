import type { ExecutionContext } from 'ava';
import type { AwakeSessionRow } from '../../src/billing/awake-session-rows.ts';
import { insertAccount, insertUser } from '../../src/accounts/rows.ts';
import type { ServerRow } from '../../src/servers/rows.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { openEmptyStore } from './empty-store.ts';

const IN_MEMORY = 'sqlite::memory:';

/**
 * Opens a store for one test, by default on SQLite, with all tables, one account (`acc_test`) and one user
 * (`usr_test`). It closes with the test.
 */
export async function freshStore(t: ExecutionContext, url = IN_MEMORY): Promise<Store> {
  const store = await (url === IN_MEMORY ? openEmptyStore() : openStore(url, TABLES));
  t.teardown(() => store.close());
  await addPerson(store, 'test');
  return store;
}

/** Adds the account `acc_<name>` with the user `usr_<name>`, who cannot sign in. */
export async function addPerson(store: Store, name: string, operator = false): Promise<void> {
  const [accountId, id] = [`acc_${name}`, `usr_${name}`];
  const user = { id, email: `${name}@example.org`, emailVerified: true, passwordHash: '', accountId, operator };
  await store.write(async (tx) => {
    await insertAccount(tx, { id: accountId, name, createdAt: 0 });
    await insertUser(tx, { ...user, createdAt: 0 });
  });
}

/** Delays the writes of a store, in their order, until a test releases them. */
export function heldWrites() {
  let latch: PromiseWithResolvers<void> | undefined;
  let waiting = 0;
  return {
    around: (base: Store): Store => ({
      ...base,
      write: async (work) => {
        waiting += latch ? 1 : 0;
        await latch?.promise;
        return base.write(work);
      },
    }),
    hold: () => void (latch = Promise.withResolvers()),
    waiting: () => waiting,
    release() {
      latch?.resolve();
      latch = undefined;
    },
  };
}

/** Returns a metered session of the server `abc` that begins at the epoch, without charges. */
export function awakeSessionRow(fields: Partial<AwakeSessionRow> = {}): AwakeSessionRow {
  return {
    id: 'ses_abc',
    serverId: 'abc',
    accountId: 'acc_test',
    cause: '{}',
    plan: 'metered',
    ramMb: 512,
    rateMicros: 10_000,
    startedAt: 0,
    readyAt: null,
    endedAt: null,
    ending: '',
    billable: 1,
    provenAt: 0,
    awakeMs: 0,
    ticks: 0,
    remainder: 0,
    amountMicros: 0,
    serverCreatedAt: 0,
    ...fields,
  };
}

/** Returns a sleeping server of the account `acc_test`. */
export function serverRow(id: string, fields: Partial<ServerRow> = {}): ServerRow {
  return {
    id,
    name: id,
    hostname: id,
    accountId: 'acc_test',
    container: `dormouse-${id}`,
    type: 'sandbox',
    version: '1.21.4',
    ramMb: 2_048,
    plan: 'metered',
    region: 'na',
    motd: '',
    properties: {},
    idleTimeoutMinutes: 0,
    awakeHours: '',
    awakeTimeZone: 'UTC',
    ignoredPlayers: '',
    tags: [],
    alertWebhookUrl: '',
    sftpEnabled: false,
    waitingRoom: false,
    networkFront: '',
    networkPort: null,
    clientVersions: 'auto',
    jvmPreset: 'default',
    jvmOptions: '',
    builds: 'pinned',
    pendingUpdate: null,
    refusedBuild: '',
    modpackPlatform: '',
    modpackRef: '',
    modpackVersion: '',
    createdAt: 1_000,
    updatedAt: 1_000,
    coldStartsMs: [],
    lastStatus: '',
    snapshot: '{}',
    state: 'hibernated',
    ...fields,
  };
}
