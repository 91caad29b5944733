import type { Cause } from '../../machines/server-types.ts';
import { recordStep } from '../people/audit/audit.ts';
import { type ServerActors, changeRow, createServerActors } from './actors.ts';
import { createServerCommands } from './commands.ts';
import { dormant, untouched } from './dormant.ts';
import { inMachineTime } from './machine-time.ts';
import { createServerReading } from './reading.ts';
import { type ServerRow, countServersOfAccount, insertServer, listServersById, ramOfAccount } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { ServerParts, Servers, ServersOptions } from './servers.ts';
import { listServersNotAtRest } from './transition-rows.ts';
import { type WakeChecks, createLook, createWakeChecks } from './wake-checks.ts';

/** Servers from creation on. How each step is stored: `actors.ts`; what they take, and when: `commands.ts`. */
export function createServers({ onRefusal = () => {}, ...options }: ServersOptions): Servers {
  const { store, clock, steady, limits, audit = recordStep } = options;
  const parts = createParts();
  const actors = createServerActors({ ...options, audit, parts: parts.get });
  const wakeChecks = createWakeChecks();
  const commands = createServerCommands({ store, clock, steady, actors, wakeChecks, onRefusal });
  const creation = { store, clock, limits, audit, actors, wakeChecks, send: commands.send };
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
    tell: (id, fact) => actors.tell(id, inMachineTime(fact, steady)),
    observe: (listener) => actors.observe(listener),
    follow: (listener) => actors.feed.follow(listener),
    until,
    checkWakes: wakeChecks.add,
    async refusal(id) {
      const now = await get(id);
      return now && wakeChecks.refusal(now, 'JOIN');
    },
    async refusals(ids, command) {
      const look = createLook();
      const rows = await listServersById(store, ids);
      const live = new Map(actors.live().map((now) => [now.row.id, now]));
      const found = rows.map(async (row) => {
        const refusal = await wakeChecks.refusal(live.get(row.id) ?? dormant(row), command, look);
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

interface CreateOptions extends Required<Pick<ServersOptions, 'store' | 'clock' | 'limits' | 'audit'>> {
  actors: ServerActors;
  wakeChecks: Pick<WakeChecks, 'before'>;
  send: Servers['send'];
}

/** Stores a server, tells of it, and has its mod pack installed; see `Servers`. */
async function createServer(options: CreateOptions, row: ServerRow, cause: Cause): Promise<ServerNow> {
  const { store, clock, limits, audit, actors, wakeChecks, send } = options;
  const stored = { ...row, snapshot: JSON.stringify(untouched(row, limits, cause)), state: 'hibernated' };
  const withPack = row.modpackPlatform !== '';
  if (withPack) for (const check of wakeChecks.before('CREATE', 'hibernated')) (await check(row))(dormant(stored));
  await store.write(async (tx) => {
    await insertServer(tx, stored);
    await audit(tx, stored, { at: row.createdAt, event: 'CREATE', from: '', to: stored.state, cause });
  });
  const now = dormant(stored);
  actors.announce(row.id, now);
  const step = { id: row.id, kind: 'server', at: row.createdAt, event: 'CREATE', cause } as const;
  actors.feed.tell(() => ({ ...step, from: '', to: now.state, fromPath: '', toPath: now.state }));
  if (!withPack) return now;
  try {
    return await send(row.id, { type: 'REINSTALL', at: row.createdAt, cause });
  } catch (error) {
    // The last place was taken while it was stored.
    await send(row.id, { type: 'DELETE', at: clock.now(), cause });
    throw error;
  }
}

/** What is provided once, after the rooms that it is made of are open. */
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
