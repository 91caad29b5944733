import type { Cause } from '../../machines/server-types.ts';
import type { MachineStep } from '../actors/machine-step.ts';
import { recordStep } from '../audit/audit.ts';
import type { Tx } from '../store/store.ts';
import { type ServerActors, changeRow, createServerActors } from './actors.ts';
import { createServerCommands } from './commands.ts';
import { dormant, untouched } from './dormant.ts';
import { inMachineTime } from './machine-time.ts';
import { createServerReading } from './reading.ts';
import {
  type ServerRow,
  countServersOfAccount,
  insertServer,
  listServersById,
  ramOfAccount,
  serverExists,
} from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { ServerParts, Servers, ServersOptions } from './servers.ts';
import { listServersNotAtRest } from './transition-rows.ts';
import { type WakeChecks, createBatchRead, createWakeChecks } from './wake-checks.ts';

/** Opens all servers. `actors.ts` stores their steps; `commands.ts` checks what they accept. */
export function createServers({ onRefusal = () => {}, ...options }: ServersOptions): Servers {
  const { store, clock, steady, limits, audit = recordStep } = options;
  const parts = createParts();
  const actors = createServerActors({ ...options, audit, parts: parts.get });
  const wakeChecks = createWakeChecks();
  const commands = createServerCommands({ store, clock, steady, actors, wakeChecks, onRefusal });
  const creation = { store, steady, limits, audit, actors, wakeChecks };
  const { listByAccount, pagesByAccount, inspect, until } = createServerReading({ store, clock, steady, actors, get });

  async function get(id: string): Promise<ServerNow | undefined> {
    const now = await actors.get(id);
    return now?.state === 'deleting' ? undefined : now;
  }

  return {
    create: (row, cause) => createServer(creation, row, cause),
    get,
    count: (accountId) => countServersOfAccount(store, accountId),
    ramMb: (accountId) => ramOfAccount(store, accountId),
    listByAccount,
    pagesByAccount,
    send: commands.send,
    intervene: commands.intervene,
    patch: (id, change, also) => changeRow(options, actors, { id, change, also }),
    patchAtRest: commands.patchAtRest,
    inspect,
    notify: (id, fact) => actors.notify(id, inMachineTime(fact, steady)),
    observe: (listener) => actors.observe(listener),
    follow: (listener) => actors.feed.follow(listener),
    until,
    checkWakes: wakeChecks.add,
    async refusal(id) {
      const now = await get(id);
      return now && wakeChecks.refusal(now, 'JOIN');
    },
    async refusals(ids, command) {
      const batchRead = createBatchRead();
      const rows = await listServersById(store, ids);
      const live = new Map(actors.live().map((now) => [now.row.id, now]));
      const found = rows.map(async (row) => {
        const refusal = await wakeChecks.refusal(live.get(row.id) ?? dormant(row), command, batchRead);
        return refusal ? [[row.id, refusal] as const] : [];
      });
      return new Map((await Promise.all(found)).flat());
    },
    provide: parts.provide,
    restore: async () => actors.restore(await listServersNotAtRest(store)),
    live: () => actors.live(),
    jobOf(id) {
      const live = actors.find(id);
      if (live !== undefined) return live.snapshot.context.job?.kind;
      return actors.isUndone(id) ? 'the change before it' : undefined;
    },
    close: () => actors.close(),
  };
}

interface CreateOptions extends Required<Pick<ServersOptions, 'store' | 'steady' | 'limits' | 'audit'>> {
  actors: ServerActors;
  wakeChecks: WakeChecks;
}

/** Stores a new server. A server with a mod pack starts with the installation. See `Servers`. */
async function createServer(options: CreateOptions, row: ServerRow, cause: Cause): Promise<ServerNow> {
  const { store, steady, limits, audit, actors, wakeChecks } = options;
  const stored = { ...row, snapshot: JSON.stringify(untouched(row, limits, cause)), state: 'hibernated' };
  const now = dormant(stored);
  const { id, createdAt: at } = row;
  const creation = {
    save: async (tx: Tx) => {
      await insertServer(tx, stored);
      await audit(tx, stored, { at, event: 'CREATE', from: '', to: stored.state, cause });
    },
    stepTaken: (): MachineStep => {
      const paths = { from: '', to: now.state, fromPath: '', toPath: now.state };
      return { id, kind: 'server', at, event: 'CREATE', cause, ...paths };
    },
  };
  if (row.modpackPlatform === '') {
    await store.write(creation.save);
    actors.announce(id, now);
    actors.feed.publish(creation.stepTaken);
    return now;
  }
  const checks = await Promise.all(wakeChecks.before('CREATE', 'hibernated').map((check) => check(row)));
  const allow = () => {
    for (const check of checks) check(now);
  };
  const event = inMachineTime({ type: 'REINSTALL' as const, at, cause }, steady);
  const made = await actors.make(stored, event, { creation, allow });
  if (made === undefined) throw serverExists(row);
  return made;
}

/** Stores the parts, which are provided once the rooms that they depend on are open. */
function createParts(): { provide: (parts: ServerParts) => void; get: () => Required<ServerParts> } {
  let provided: Required<ServerParts> | undefined;
  return {
    provide({ effects, onStep = async () => {} }) {
      provided = { effects, onStep };
    },
    get() {
      if (provided === undefined) throw new Error('a server acts before its effects are provided');
      return provided;
    },
  };
}
