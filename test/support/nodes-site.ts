import type { ExecutionContext } from 'ava';
import type { Player } from '../../proxy/ports.ts';
import { createAdmission } from '../../src/billing/admission.ts';
import { watchLostGames } from '../../src/engines/lost-games.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { Routing } from '../../src/joining/routing.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { WAKES_AND_INSTALLS } from '../../src/servers/wake-checks.ts';
import type { FakeNode } from '../fakes/nodes.ts';
import { api } from './api-harness.ts';
import { OPEN_POLICY } from './join-policy.ts';

/** Three nodes, which offer games 7680, 3584 and 15 872 MB. */
export const THREE: readonly FakeNode[] = [
  { id: 'n1', name: 'one', ramMb: 8_192, cores: 4 },
  { id: 'n2', name: 'two', ramMb: 4_096, cores: 2 },
  { id: 'n3', name: 'far', ramMb: 16_384, cores: 8, region: 'eu' },
];

/** Opens an installation on several nodes, with an operator. */
export async function nodesSite(t: ExecutionContext, nodes = THREE) {
  const it = await api(t, { world: { nodes } });
  const { servers, clock, store, services } = it;
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(KEY_SCOPES);
  const engine = it.engine.nodes!;
  const limits = { of: () => ({ maxRamMb: 100_000, maxServers: 0 }) };
  const { capacity } = services;
  const live = () => servers.live();
  const admit = createAdmission(live, capacity, limits, { nodeLabel: 'node-1', home: 'na', nodes: engine });
  servers.checkWakes(async () => admit, WAKES_AND_INSTALLS);
  const log = services.log;
  const onClose = (close: () => void) => t.teardown(close);
  const lostGames = watchLostGames({ nodes: engine, servers, clock, log, onClose });
  const settings = { joinPolicy: OPEN_POLICY, publicHost: 'play.example', sleepers: await listRoutes(store) };
  const routing = new Routing({ servers, clock, log, lostGames, ...settings });
  t.teardown(() => routing.close());
  return {
    ...it,
    nodes: engine,
    operate: (path: string, body?: unknown) =>
      it.call(body === undefined ? 'GET' : 'POST', `/v1/operator/${path}`, { key, body }),
    async running(id: string) {
      await it.until(() => it.engine.boots.includes(id));
      await it.reach(id, 'running');
    },
    start: async (id: string) => (await it.call('POST', `/v1/servers/${id}:start`)).reason,
    route: (id: string) => routing.lookup(`${id}.play.example`),
    async kicked(id: string) {
      return (await t.throwsAsync(routing.wake(id, playerOf('Steve'), AbortSignal.timeout(60_000)))).message;
    },
    /** Lets a player wait in line. `places` collects each place that the player is notified of. */
    comes(id: string, name: string) {
      const gone = new AbortController();
      const places: (number | null)[] = [];
      const player = { places, gone, outcome: 'waits' };
      const inLine = { waitedMs: 0, notify: (place: number | null) => void places.push(place) };
      routing.wake(id, playerOf(name), gone.signal, inLine).then(
        ({ host }) => (player.outcome = host),
        (error: Error) => (player.outcome = error.message),
      );
      return player;
    },
    async actions() {
      const sql = `SELECT "action", "detail" FROM "audit" WHERE "action" LIKE 'node.%' ORDER BY "id"`;
      return (await store.query<{ action: string; detail: string }>(sql)).map(
        ({ action, detail }) => `${action}: ${detail}`,
      );
    },
  };
}

const playerOf = (name: string) => ({ name, protocol: 769 }) as Player;
