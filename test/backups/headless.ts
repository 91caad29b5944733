import { join } from 'node:path';
import process from 'node:process';
import { gameConsoles } from '../../src/engines/console/console.ts';
import type { Cause } from '../../machines/server-types.ts';
import type { OffSite } from '../../src/backups/offsite/offsite.ts';
import type { BackupRow } from '../../src/backups/rows.ts';
import { createManagement } from '../../src/engines/console/management.ts';
import { DiskUsage } from '../../src/disk/usage.ts';
import { createChangeLock } from '../../src/jail/change-lock.ts';
import { unlimitedDisk } from '../../src/jail/space.ts';
import { createLog } from '../../src/kernel/log.ts';
import { sinceBoot, systemClock } from '../../src/kernel/system-clock.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import { openEffects, openServers } from '../../src/servers/open.ts';
import { createPresence } from '../../src/servers/presence.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { Worlds } from '../../src/worlds/worlds.ts';
import { steadyOf } from '../fakes/clock.ts';
import { fakeEngine } from '../fakes/engine.ts';
import { fakePasswords } from '../fakes/passwords.ts';
import { backupRoom } from '../support/backup-room.ts';
import { serverRow } from '../support/store.ts';
import { plant } from '../support/tree.ts';
import { until } from '../support/until.ts';

const ID = 'lobby';
const BY: Cause = { kind: 'key', id: 'key_test', note: '' };

/** The state at the end of a run. */
export interface Said {
  state: string;
  version: string;
  maintained: { failure: object | null } | null;
  backups: Pick<BackupRow, 'kind' | 'state' | 'error' | 'version' | 'location' | 'sha256'>[];
}

/**
 * Runs a service without listeners on a data folder with one server: starts it, performs `what`, and waits until the
 * server settles and off-site work is done. The process kills itself at step `dieAt`.
 */
export async function headless(dataDir: string, what: string, dieAt = '', offSite?: OffSite): Promise<Said> {
  const store = await openStore(`sqlite:${join(dataDir, 'dormouse.db')}`, TABLES);
  const clock = systemClock;
  const steady = steadyOf({ ...clock, monotonicMs: sinceBoot });
  const log = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });
  const engine = fakeEngine({ clock });
  const halt = engine.halt.bind(engine);
  engine.halt = async (...given) => {
    await halt(...given);
    await at('stopped');
  };
  const said: string[] = [];
  const console = {
    run: async (_: object, __: string, command: string) => {
      said.push(command);
      if (command === 'stop') {
        await at('stopping');
        engine.crash(ID, { code: 0 });
      }
      return command === 'save-all flush' ? 'Saved the game' : '';
    },
    release() {},
    close() {},
  };
  const quiet = { dataDir, owner: undefined };
  const at = async (step: string) => {
    if (step !== dieAt) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  };
  const servers = openServers({ store, clock, steady, log, startTimeoutSeconds: 60, onRefusal: () => {} });
  const lock = createChangeLock((id) => servers.jobOf(id));
  const usage = await DiskUsage.open({ store, clock, log, dataDir });
  const passwords = fakePasswords();
  const consoles = gameConsoles(console, () => 'secret');
  const doubles = { usage, at, ...(offSite && { offSite }) };
  const room = backupRoom({ store, clock, log, dataDir }, { engine, consoles }, lock, doubles);
  await room.recover();
  openEffects({
    servers,
    games: {
      engine,
      console,
      passwords,
      management: createManagement(),
      presence: createPresence(steady),
      pinger: { status: async () => ({ playersOnline: 0, playersMax: 20, versionName: '', protocol: 1, raw: '{}' }) },
      clock: steady,
      log,
      owner: undefined,
      settings: {
        dataDir,
        gameImage: '',
        sandboxImage: '',
        sandboxFaults: {},
        idleTimeoutMinutes: 0,
        hungAfterSeconds: 180,
      },
    },
    rooms: {
      ports: { of: () => [] },
      capacity: { cpusFor: () => 1 },
      eula: { isAccepted: async () => true },
      maintain: room.maintain,
      erasers: [room.erase],
    },
    onStep: [],
    onClose: () => {},
  });
  await servers.restore();
  const backups = await room.open(servers, { publish() {} });
  const { archives } = room;
  const worlds = new Worlds({ ...quiet, servers, backups, archives, clock, disk: unlimitedDisk, lock });
  const forever = new AbortController().signal;
  const actor = { userId: '', through: 'test' };
  const newest = async (kind: string) => (await backups.list(ID)).find((each) => each.kind === kind)?.id ?? '';

  if (what === 'setup') {
    await store.write((tx) => insertAccount(tx, { id: 'acc_test', name: 'test', createdAt: 0 }));
    await servers.create({ ...serverRow(ID, { snapshot: '' }), version: '1.20.4' }, BY);
    const { id } = await backups.create({ id: ID, accountId: 'acc_test' }, { actor, kind: 'manual' });
    await backups.finished({ serverId: ID, id }, forever);
    await plant(join(dataDir, 'servers', ID), { 'world/level.dat': 'played since', 'world_nether/level.dat': 'new' });
    await servers.patch(ID, { version: '1.21.4' });
  } else if (what === 'backup') {
    const { id } = await backups.create({ id: ID, accountId: 'acc_test' }, { actor, kind: 'manual' });
    await backups.finished({ serverId: ID, id }, forever);
  } else if (what === 'restore') await backups.restore(ID, await newest('manual'), BY, forever);
  else if (what === 'restore-running') {
    await servers.send(ID, { type: 'START', at: clock.now(), cause: BY });
    await servers.until(ID, (each) => each?.state === 'running', forever);
    await backups.restore(ID, await newest('manual'), BY, forever);
  } else if (what === 'undo') await backups.restore(ID, await newest('previous'), BY, forever);
  else if (what === 'delete') await worlds.remove(ID, 'world', { actor, cause: BY }, forever);
  else if (what === 'remove') await backups.remove({ id: ID, accountId: 'acc_test' }, await newest('manual'), actor);
  else if (what === 'reset') await worlds.reset(ID, { actor, cause: BY }, forever);

  const isSettled = (state: string) => state === 'hibernated' || state === 'running';
  const now = await servers.until(
    ID,
    (each) => each === null || (each.context.job === null && isSettled(each.state)),
    forever,
  );
  // Uploads and off-site removals run in the background.
  const owed = 'SELECT 1 FROM "backup_uploads" UNION ALL SELECT 1 FROM "offsite_removals"';
  await until(async () => (await store.query(owed)).length === 0);
  const { state, context, row } = now!;
  const list = (await backups.list(ID)).map(({ kind, state, error, version, location, sha256 }) => {
    return { kind, state, error, version, location, sha256 };
  });
  await backups.close();
  await servers.close();
  await store.close();
  return { state, maintained: context.maintained, version: row.version, backups: list };
}
