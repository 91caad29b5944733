import { chown } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { abortable } from '../../kernel/timeout.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { EngineError, type GameSpec } from '../engine.ts';
import { type ContainerHome, LABEL, containerName, containerOptions, specDigest } from './container.ts';
import type { Egress } from './egress.ts';
import { statusOf, unless, within } from './errors.ts';
import type { GameNetwork } from './network.ts';

const CALL_MS = MINUTE_MS;
const ATTEMPTS = 50;
const PAUSE_MS = 100;

/** The containers of servers, one per server. Calls for one server must not overlap; the engine ensures that. */
export interface Containers {
  find(serverId: string): Promise<Docker.ContainerInspectInfo | undefined>;
  /** Returns the ids of all our containers, including ended ones. */
  all(): Promise<string[]>;
  inspect(id: string): Promise<Docker.ContainerInspectInfo | undefined>;
  /** Runs a container for the specification, in place of an ended one, and returns it. */
  run(spec: GameSpec, installer: boolean, signal: AbortSignal): Promise<Docker.ContainerInspectInfo>;
  /** Sends SIGTERM, then SIGKILL after `graceMs`, rounded up to whole seconds. */
  stop(id: string, graceMs: number): Promise<void>;
  kill(id: string): Promise<void>;
  /** Resumes a paused container. While paused it handles no signals, and some engines cannot even kill it. */
  resume(info: Docker.ContainerInspectInfo): Promise<void>;
  /** Removes a container with its anonymous volumes, whatever its state. */
  discard(id: string): Promise<void>;
}

interface Parts {
  docker: Docker;
  home: ContainerHome;
  network: GameNetwork;
  /** Undefined: games may connect to everything that this machine can reach. */
  egress: Egress | undefined;
  ensureImage: (image: string) => Promise<void>;
  /** Called with a container that is about to be replaced. */
  beforeDiscard: (serverId: string, id: string) => Promise<void>;
}

/**
 * Returns the containers of one installation on one Docker Engine. Calls reject with dockerode's errors, or with
 * EngineError.
 */
export function dockerContainers({ docker, home, network, egress, ensureImage, beforeDiscard }: Parts): Containers {
  const inspect = (idOrName: string) => unless([404], within(CALL_MS, docker.getContainer(idOrName).inspect()));
  const find = (serverId: string) => inspect(containerName(home.installation, serverId));

  async function discard(id: string): Promise<void> {
    // 409: the container is already being removed.
    await unless([404, 409], within(CALL_MS, docker.getContainer(id).remove({ force: true, v: true })));
    const deadline = performance.now() + CALL_MS;
    while ((await inspect(id)) && performance.now() < deadline) await sleep(50);
  }

  let isChecked = false;

  async function requireOwnUsers(): Promise<void> {
    if (isChecked) return;
    await refuseMappedUsers(() => within(CALL_MS, docker.info()));
    isChecked = true;
  }

  /**
   * Creates a container. Returns false if another instance has just created one, or the earlier one is not completely
   * gone.
   */
  async function create(spec: GameSpec, installer: boolean, signal: AbortSignal): Promise<boolean> {
    await requireOwnUsers();
    await abortable(ensureImage(spec.image), signal);
    const networkId = await network.ensure();
    const restricted = egress?.restrict(networkId, spec.image);
    // The sandbox runs no code of its owner, so it starts even without restrictions.
    await (spec.core === 'sandbox' ? restricted?.catch(() => undefined) : restricted);
    await handOver(spec.dataDir, home.user);
    signal.throwIfAborted();
    const options = containerOptions(spec, installer, home, networkId);
    return (await unless([409], within(CALL_MS, docker.createContainer(options)))) !== undefined;
  }

  return {
    find,
    inspect,
    discard,

    async all() {
      const filters = { label: [`${LABEL.installation}=${home.installation}`] };
      return (await within(CALL_MS, docker.listContainers({ all: true, filters }))).map((info) => info.Id);
    },

    async run(spec, installer, signal) {
      const digest = specDigest(spec, installer);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        signal.throwIfAborted();
        const found = await find(spec.serverId);
        if (found?.State.Running && (found.Config.Labels[LABEL.installer] === 'true') === installer) return found;
        if (!found) {
          if (!(await create(spec, installer, signal))) await sleep(PAUSE_MS);
          continue;
        }
        // Created for this specification and never started: a boot was interrupted, or continues in another instance.
        const startable = found.State.Status === 'created' && found.Config.Labels[LABEL.spec] === digest;
        const failure = startable ? await start(docker, found.Id) : undefined;
        if (startable && failure === undefined) return (await inspect(found.Id)) ?? found;
        if (isAmbiguous(failure)) {
          await sleep(PAUSE_MS);
          continue;
        }
        await beforeDiscard(spec.serverId, found.Id);
        await discard(found.Id);
        // 404: its network or image was removed after the container was created.
        if (failure !== undefined && statusOf(failure) !== 404) throw failure;
      }
      throw new EngineError('unknown', 'The container of the server keeps disappearing.');
    },

    async stop(id, graceMs) {
      const seconds = Math.ceil(graceMs / 1000);
      await unless([304, 404], within(graceMs + CALL_MS, docker.getContainer(id).stop({ t: seconds })));
    },

    async resume({ Id, State }) {
      // 409, 500: the container already runs. Engines differ in the status.
      if (State.Paused) await unless([404, 409, 500], within(CALL_MS, docker.getContainer(Id).unpause()));
    },

    async kill(id) {
      await unless([404, 409], within(CALL_MS, docker.getContainer(id).kill({ signal: 'SIGKILL' })));
    },
  };
}

/**
 * Rejects with EngineError if Docker maps the users of containers to others. A game could then not write the files of
 * its server, and in rootless mode players could not reach it. An engine that does not report its mode is accepted.
 */
export async function refuseMappedUsers(info: () => Promise<unknown>): Promise<void> {
  const { SecurityOptions: options } = ((await info().catch(() => undefined)) ?? {}) as { SecurityOptions?: unknown };
  const names = Array.isArray(options) ? options.map((each) => String(each).split(',')[0]) : [];
  const mode = names.includes('name=rootless') ? 'runs rootless' : 'maps the users of containers (userns-remap)';
  if (!names.includes('name=rootless') && !names.includes('name=userns')) return;
  throw new EngineError('unknown', `Docker ${mode}, so games cannot write their files.`, {
    suggestion: 'Ask the operator to run Docker without rootless mode and userns-remap, or to set ENGINE=process.',
  });
}

async function start(docker: Docker, id: string): Promise<unknown> {
  try {
    await unless([304], within(CALL_MS, docker.getContainer(id).start()));
    return undefined;
  } catch (error) {
    return error;
  }
}

// Another instance created the network at the same moment and is about to remove one of the two.
function isAmbiguous(failure: unknown): boolean {
  return failure instanceof Error && failure.message.includes('is ambiguous');
}

/** Makes the game's user the owner of the data root. The files in it already have the right owner. */
export async function handOver(dataDir: string, user: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  await chown(dataDir, uid, gid).catch((cause: unknown) => {
    throw new EngineError('unknown', 'The owner of the server’s data folder could not be set.', { cause });
  });
}
