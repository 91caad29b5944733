import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { insertBackup, listBackups } from '../../../src/backups/rows.ts';
import { insertAwakeSession } from '../../../src/billing/awake-session-rows.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/kernel/units.ts';
import { insertSchedule } from '../../../src/schedules/rows.ts';
import { backUp } from '../../backups/parts.ts';
import type { PanelUnderTest } from '../../support/panel.ts';
import { awakeSessionRow } from '../../support/store.ts';
import { plant } from '../../support/tree.ts';

const SERVERS = 40;
const BACKUPS = 60;
const SCHEDULES = 40;
const NAMES = 150;
const SESSIONS = 400;

/** Fills each list beyond its first page, with long entries. */
export async function fillLists(it: PanelUnderTest, id: string): Promise<void> {
  for (let nth = 0; nth < SERVERS; nth++) await it.create(`server-${nth}`, { name: `Server ${nth} ${'n'.repeat(40)}` });
  await playerLists(join(it.dataDir, 'servers', id));
  await plant(join(it.dataDir, 'servers', id), { 'world/level.dat': 'a world' });
  await backUp(it, id);
  const [backup] = await listBackups(it.store, id);
  const { row } = (await it.servers.get(id))!;
  const now = it.clock.now();
  await it.store.write(async (tx) => {
    for (let nth = 1; nth < BACKUPS; nth++)
      await insertBackup(tx, { ...backup!, id: `bak_${nth}`, createdAt: backup!.createdAt - nth * HOUR_MS });
    for (let nth = 0; nth < SCHEDULES; nth++) {
      const times = { createdAt: now, lastRunAt: now, nextRunAt: now + HOUR_MS, runningSince: null, playedMinutes: 0 };
      const what = {
        kind: 'command',
        command: `say ${'s'.repeat(60)}`,
        cronExpr: '0 4 * * *',
        timeZone: 'UTC',
        enabled: true,
        onlyWhenEmpty: false,
        warnSeconds: 0,
      } as const;
      const how = {
        lastStatus: 'error',
        lastError: 'The game did not take it.',
        userId: 'usr_test',
        keyId: '',
      } as const;
      await insertSchedule(tx, { id: `sch_${nth}`, serverId: id, ...what, ...times, ...how });
    }
    for (let nth = 0; nth < SESSIONS; nth++) {
      const startedAt = now - (nth + 1) * HOUR_MS;
      const times = { startedAt, readyAt: startedAt + MINUTE_MS, endedAt: startedAt + HOUR_MS / 2 };
      const cause = JSON.stringify({ kind: 'player', id: `player_no_${nth}`, note: 'joined' });
      const of = { serverId: id, accountId: 'acc_test', serverCreatedAt: row.createdAt, cause, ending: 'idle' };
      await insertAwakeSession(tx, awakeSessionRow({ id: `ses_${nth}`, ...of, ...times, amountMicros: 1_234 }));
    }
  });
}

async function playerLists(folder: string): Promise<void> {
  const nth = Array.from({ length: NAMES }, (_, each) => each);
  const named = nth.map((each) => ({ uuid: '', name: `player_name_${1_000 + each}` }));
  const reason = 'Took all of the torches in the mine, and was told more than once. '.repeat(2);
  const created = '2026-01-01 10:00:00 +0000';
  const ban = { created, source: 'Alex', expires: '2099-01-31 18:05:09 +0100', reason };
  const lists = {
    whitelist: named,
    ops: named.map(({ uuid, name }) => ({ uuid, name, level: 4, bypassesPlayerLimit: true })),
    'banned-players': named.map((who) => Object.assign({}, ban, who)),
    'banned-ips': nth.map((each) => Object.assign({ ip: `2001:db8:1234:5678:9abc:def0:1234:${1_000 + each}` }, ban)),
  };
  for (const [name, entries] of Object.entries(lists))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(entries));
}
