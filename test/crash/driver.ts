import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Service } from '../support/service.ts';
import { type Random, random } from '../support/random.ts';
import { examine, stepOf, track, type Tracked } from './cell.ts';
import { backups, files } from './cells-files.ts';
import { grant } from './cells-grants.ts';
import { keys, members, mods, players, schedules, templates } from './cells-lists.ts';
import { gifts, payments } from './cells-money.ts';
import { guest, settings, suspension, wish } from './cells-servers.ts';
import { type Client, newClient } from './client.ts';
import { brokenInvariants } from './invariants.ts';

export interface Crashes {
  /** Customers go on until the service is killed; it comes up again, and all is held against what it had acknowledged. */
  round(nth: number): Promise<string[]>;
  /** Steps that were acknowledged, by cell. */
  steps(): Record<string, number>;
}

/** Servers that are there all the time, by what is done with them. */
const SANDBOX = { type: 'sandbox', version: '1.21.4', ramMb: 256 };
const SERVERS: Record<string, object> = {
  awake: SANDBOX,
  nap: SANDBOX,
  set: SANDBOX,
  filed: SANDBOX,
  kept: SANDBOX,
  barred: SANDBOX,
  played: SANDBOX,
  modded: { type: 'fabric', version: '1.21.4', ramMb: 512 },
};
export const PROJECTS = ['lithium', 'sodium', 'krypton'];
/** A kill while it comes up hits anything from the first module to the last listener. */
const COMING_UP_MS = 1_500;
const WORKING_MS = 3_000;
const PAUSE_MS = 150;

/** Servers and customers of a service that has just started. The same seed chooses the same steps. */
export async function openCrashes(service: Service, seed: number): Promise<Crashes> {
  await copyFile(join(service.dataDir, 'first-run.json'), join(service.dataDir, 'operator.json'));
  const client = newClient(service);
  const { accountId } = await client.get<{ accountId: string }>('/v1/whoami');
  await client.signIn();
  for (const [id, fields] of Object.entries(SERVERS))
    await service.call('POST', '/v1/servers', { id, name: id, ...fields });
  // Nothing goes but what somebody removes.
  await service.call('POST', '/v1/servers/kept/backups:setRetention', { keepLast: 100 });
  const tracked = [
    track(wish(client, 'awake')),
    track(wish(client, 'nap')),
    track(guest(client, 'guest')),
    track(settings(client, 'set')),
    track(suspension(client, 'barred')),
    track(files(client, 'filed')),
    track(backups(client, 'kept')),
    track(players(client, 'played')),
    track(mods(client, 'modded', PROJECTS)),
    track(schedules(client, 'set')),
    track(members(client, 'set')),
    track(templates(client, 'set')),
    track(keys(client)),
    track(gifts(client, accountId)),
    track(payments(client, service, accountId)),
    track(grant(client)),
  ];

  async function round(nth: number): Promise<string[]> {
    const dice = random(seed * 1_000 + nth);
    const killed = new AbortController();
    client.patient = false;
    const work = Promise.all(
      tracked.map((each, index) => customer(each, random(seed + nth * 100 + index), killed.signal)),
    );
    await delay(dice() * WORKING_MS);
    await service.kill();
    killed.abort();
    await work;
    client.patient = true;
    const beginning = service.log.length;
    for (let kills = 0; kills < 2 && dice() < 0.3; kills++) await killComingUp(service, dice);
    await service.start();
    return [
      ...(await examineAll(tracked)),
      ...(await brokenInvariants(service)),
      ...complaints(service, beginning, client),
    ];
  }

  return {
    round,
    steps: () => Object.fromEntries(tracked.map(({ cell, steps }) => [cell.name, steps])),
  };
}

async function customer(tracked: Tracked, dice: Random, killed: AbortSignal): Promise<void> {
  while (!killed.aborted) {
    if (!(await stepOf(tracked, dice))) return;
    await delay(dice() * PAUSE_MS, undefined, { signal: killed }).catch(() => {});
  }
}

async function killComingUp(service: Service, dice: Random): Promise<void> {
  const started = service.start().catch(() => {});
  await delay(dice() * COMING_UP_MS);
  await service.kill();
  await started;
}

async function examineAll(tracked: readonly Tracked[]): Promise<string[]> {
  const found = await Promise.all(
    tracked.map((each) => examine(each).catch((error: unknown) => `${each.cell.name}: ${String(error)}`)),
  );
  return found.filter((each) => each !== undefined);
}

const LOUD: ReadonlySet<unknown> = new Set(['error', 'fatal']);

/** Where the process was while it did not go on: nowhere, if it was the machine that gave it no time. */
const isStarved = ({ stuckMs, at }: Record<string, unknown>) => stuckMs !== undefined && isDeepStrictEqual(at, []);

/** What somebody would have to look at: answers of 500, and errors in the log. */
function complaints({ log }: Service, beginning: number, { broken }: Client): string[] {
  const logged = log.slice(beginning).filter((line) => LOUD.has(line['level']) && !isStarved(line));
  return [...broken.splice(0), ...logged.map((line) => `logged as an error: ${JSON.stringify(line)}`)];
}
