import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { DEFAULT_SANDBOX_IMAGE } from '../../src/engines/docker/sandbox-image.ts';
import { EngineError } from '../../src/engines/engine.ts';
import type { NodeNotes } from '../../src/engines/swarm/fences.ts';
import { managerOf } from '../../src/engines/swarm/manager.ts';
import { swarmNetworks } from '../../src/engines/swarm/networks.ts';
import { checkSharedFolder } from '../../src/engines/swarm/shared-folder.ts';
import { createSwarmEngine } from '../../src/engines/swarm/swarm.ts';
import { type Belongings, belongings } from '../support/belongings.ts';
import { type TestSwarm, testSwarm } from '../support/swarm.ts';
import { until } from '../support/until.ts';
import { IMAGE, busyboxImage } from './busybox-image.ts';
import { behaviourEnv } from './docker-bench.ts';
import type { Bench } from './engine.ts';
import { gameSpec } from './game-spec.ts';

/** The port at which games would find their databases. */
export const DATABASE_PORT = 23_306;

/** A bench on a swarm of real engines. All tests of a file share the swarm, and each has an installation of its own. */
export interface SwarmBench extends Bench {
  swarm: TestSwarm;
  installation: string;
  /** The overlay network; undefined without one. */
  network: string | undefined;
  /** Checks whether nodes share the folder of all servers. Returns each node's trouble, if any. */
  checkFiles(): Promise<{ dir: string; troubles: Map<string, string | undefined> }>;
}

export interface SwarmBenches {
  make(t: ExecutionContext, how?: { overlay: boolean }): Promise<SwarmBench>;
  /** Ends the engines. */
  end(): Promise<void>;
}

export function swarmBenches(count: number): SwarmBenches {
  const network = 'dormouse-games';
  const shared: Belongings = belongings();
  let starting: Promise<TestSwarm> | undefined;
  let entering: Promise<unknown> | undefined;

  async function start(): Promise<TestSwarm> {
    await busyboxImage();
    const swarm = await testSwarm(shared, count);
    await swarm.load([IMAGE, DEFAULT_SANDBOX_IMAGE]);
    return swarm;
  }

  /** Gives this process addresses in the engine's networks, which are created if they are missing. */
  async function enter(swarm: TestSwarm): Promise<void> {
    await swarmNetworks(swarm.manager, managerOf(swarm.manager), network).ensure();
    await Promise.all([network, `${network}-nodes`].map((each) => swarm.enter(each)));
  }

  return {
    end: () => shared.end(),
    async make(t, how = { overlay: true }) {
      const swarm = await (starting ??= start());
      const installation = `t${randomBytes(5).toString('hex')}`;
      const dir = await mkdtemp(join(tmpdir(), 'dormouse-swarm-'));
      await chmod(dir, 0o755);
      const logDir = join(dir, 'logs');
      const notes: NodeNotes[] = [{}];
      const make = () =>
        createSwarmEngine({
          docker: { socketPath: swarm.nodes[0]!.socketPath },
          installation,
          logDir,
          log: pino({ level: 'silent' }),
          region: 'na',
          notes: { read: async () => notes.at(-1) ?? {}, write: async (now) => void notes.push(now) },
          lostAfterMs: 0,
          mayAct: async () => {},
          network: how.overlay ? network : undefined,
          secret: installation,
          agentImage: DEFAULT_SANDBOX_IMAGE,
          nodeSocket: swarm.nodeSocket,
          database: { host: 'database', port: DATABASE_PORT },
          reach: 'internet',
        });
      if (how.overlay) await (entering ??= enter(swarm));
      const engine = await make();
      const other = await make();
      t.teardown(async () => {
        // On a busy machine, one of the engines may not answer in time. A game that is left would count as load.
        await until(async () => {
          try {
            for (const { serverId } of await engine.list()) await engine.erase(serverId);
            return true;
          } catch (error) {
            if (error instanceof EngineError && error.code === 'engine_unavailable') return false;
            throw error;
          }
        });
        await swarm.manager.getService(`dormouse-${installation}-agents`).remove();
        await rm(dir, { recursive: true });
      });
      for (const id of ['alpha', 'beta']) await mkdir(join(dir, 'data', id), { recursive: true });
      const ours = async () =>
        swarm.manager.listServices({ filters: { label: [`dormouse.installation=${installation}`] } });
      return {
        engine,
        swarm,
        installation,
        network: how.overlay ? network : undefined,
        async checkFiles() {
          const manager = managerOf(swarm.manager);
          const folder = join(dir, 'data');
          const ids = (await manager.nodes()).filter(({ Status }) => Status.State === 'ready').map(({ ID }) => ID);
          const { Id } = await swarm.manager.getImage(DEFAULT_SANDBOX_IMAGE).inspect();
          const parts = { manager, installation, dir: folder, user: '1000:1000', image: async () => Id };
          return { dir: folder, troubles: await checkSharedFolder(parts, ids) };
        },
        again: () => other,
        spec: (serverId, behaviour = {}) =>
          gameSpec(serverId, { image: IMAGE, dataDir: join(dir, 'data', serverId), env: behaviourEnv(behaviour) }),
        async traces(serverId) {
          const logs = await readdir(logDir).catch(() => []);
          return [
            ...(await ours()).map(({ Spec }) => Spec?.Name ?? ''),
            ...logs.filter((name) => name.startsWith(serverId)),
          ];
        },
        async publishedAt(serverId) {
          const filters = { service: [`dormouse-${installation}-${serverId}`] };
          const [task] = (await swarm.manager.listTasks({ filters })) as { NodeID: string }[];
          const { Status } = await swarm.manager.getNode(task!.NodeID).inspect();
          return Status.Addr;
        },
        enforcesMemory: true,
        listens: true,
        echoesUdp: false,
        keepsApart: how.overlay,
      };
    },
  };
}
