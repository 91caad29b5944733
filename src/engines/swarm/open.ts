import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { Address } from '../../kernel/address.ts';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { getMeta, setMeta } from '../../store/meta.ts';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import type { ImageProvider } from '../docker/image.ts';
import { type Engine, EngineError } from '../engine.ts';
import type { FenceNode, FenceNotes } from './fences.ts';
import { createSwarmEngine } from './swarm.ts';

/** The options of opening a swarm. */
export interface OpenSwarm {
  store: Store;
  secret: Secret;
  settings: {
    dataDir: string;
    sandboxImage: string;
    region: string;
    swarmNetwork: string;
    swarmOverlay: boolean;
    swarmNodeSocket: string;
    fenceCommand: string;
    swarmLostAfterSeconds: number;
    gamesReach: 'internet' | 'everything';
    /** Null: games have no databases. */
    mysqlAdminUrl: string | null;
    mysqlAddress: Address;
  };
  docker: Docker.DockerOptions;
  installation: string;
  /** Resolves if this process may act; see `Lease.require`. */
  mayAct: () => Promise<void>;
  logDir: string;
  provideImage: ImageProvider;
  log: Log;
}

const KEY = 'swarm.fenced';
const FENCE_MS = 2 * MINUTE_MS;

/** Opens the engine of a swarm. Rejects with StatusError and a remedy if it cannot be used. */
export async function openSwarm({ store, secret, settings, ...parts }: OpenSwarm): Promise<Engine> {
  const serversDir = join(settings.dataDir, 'servers');
  await mkdir(serversDir, { recursive: true });
  try {
    return await createSwarmEngine({
      ...parts,
      region: settings.region,
      network: settings.swarmOverlay ? settings.swarmNetwork : undefined,
      nodeSocket: settings.swarmNodeSocket,
      agentImage: settings.sandboxImage,
      serversDir,
      database: settings.mysqlAdminUrl === null ? undefined : settings.mysqlAddress,
      reach: settings.gamesReach,
      secret: secret.derive('swarm agents', ''),
      notes: notesIn(store),
      fenceNode: settings.fenceCommand === '' ? undefined : fenceBy(settings.fenceCommand),
      lostAfterMs: settings.swarmLostAfterSeconds * 1_000,
    });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const { cause, code } = error;
    const text = cause instanceof Error ? ` (${cause.message.trim()})` : '';
    const todo =
      code === 'engine_unavailable' ? 'Start Docker. DOCKER_HOST must point to a manager.' : error.suggestion;
    const message = `ENGINE=swarm cannot be used: ${error.message}${text} ${todo}`;
    throw new StatusError('FAILED_PRECONDITION', 'SWARM_UNUSABLE', message.trim(), { cause: error });
  }
}

function notesIn(store: Store): FenceNotes {
  return {
    read: async () => JSON.parse((await getMeta(store, KEY)) ?? '{}') as Awaited<ReturnType<FenceNotes['read']>>,
    write: (notes) => store.write((tx) => setMeta(tx, KEY, JSON.stringify(notes))),
  };
}

/**
 * Returns a function that runs the operator's command. After two minutes the command ends with all its processes,
 * because a hanging program must not switch off a node later. Errors do not quote the command, which may contain a
 * password.
 */
export function fenceBy(command: string, mostMs = FENCE_MS): FenceNode {
  return async ({ id, name, address }, signal) => {
    signal.throwIfAborted();
    const env = {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      NODE_ID: id,
      NODE_NAME: name,
      NODE_ADDRESS: address,
    };
    const child = spawn('/bin/sh', ['-c', command], { env, stdio: 'ignore', detached: true });
    const over = AbortSignal.any([signal, AbortSignal.timeout(mostMs)]);
    const end = () => killGroup(child.pid);
    over.addEventListener('abort', end, { once: true });
    const [code, killed] = (await once(child, 'exit').finally(() => over.removeEventListener('abort', end))) as [
      number | null,
      string | null,
    ];
    if (code !== 0) throw new Error(`FENCE_COMMAND ended with ${killed ?? code}`);
    return true;
  };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended on its own.
  }
}
