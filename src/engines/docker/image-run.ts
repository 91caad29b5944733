import type Docker from 'dockerode';
import { abortable } from '../../kernel/timeout.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { type ContainerHome, containerOptions } from './container.ts';
import { unless, within } from './errors.ts';
import { frames, openStream } from './streams.ts';

/** A run of an image for the service itself, without any server's files. */
export interface ImageRun {
  image: string;
  /** The folder on this machine that is mounted at /data. */
  folder: string;
  /** Replaces the image's own program. */
  command?: readonly string[];
  /** See `GameSpec.readable`. */
  readable?: string;
  env: Record<string, string>;
  memoryMb: number;
  onOutput: (chunk: Buffer) => void;
  /** Asks the program to end. */
  stop?: AbortSignal;
  /** Kills the run. */
  signal: AbortSignal;
}

/** An image that is on this machine. */
export interface ImageFacts {
  id: string;
  /** Its version of Java; undefined if unknown. */
  java: number | undefined;
}

const CALL_MS = MINUTE_MS;
/** The smallest share of a busy processor. */
const LOWEST = 2;
/** The smallest weight of reads and writes. */
const LEAST_WEIGHT = 10;

/** Returns the id and the Java of an image; undefined if it is not here. */
export async function imageFacts(docker: Docker, image: string): Promise<ImageFacts | undefined> {
  const found = await unless([404], within(CALL_MS, docker.getImage(image).inspect()));
  if (!found) return undefined;
  // Set by the images of Eclipse Temurin, on which the game image is based: `jdk-21.0.5+11`, `jdk8u432-b06`.
  const named = (found.Config.Env ?? []).map((line) => /^JAVA_VERSION=(?:jdk-?)?(\d+)/.exec(line)?.[1]);
  const java = named.find((major) => major !== undefined);
  return { id: found.Id, java: java === undefined ? undefined : Number(java) };
}

/**
 * Runs an image with the limits of a game's container and the lowest priority, and resolves to its exit code. It
 * replaces a run that a killed service has left. Rejects when `signal` fires.
 */
export async function runImage(
  docker: Docker,
  home: ContainerHome,
  networkId: string,
  { image, folder, command, readable, env, memoryMb, onOutput, stop, signal }: ImageRun,
): Promise<number> {
  const spec = { serverId: 'training', core: '', version: '', ramMb: memoryMb, cpus: 2, ports: [], image, env };
  const mounted = { ...spec, dataDir: folder, ...(readable !== undefined && { readable }) };
  const { HostConfig: limits, ...options } = containerOptions(mounted, true, home, networkId);
  const name = `dormouse-${home.installation}.training`;
  const left = docker.getContainer(name);
  const remove = () => unless([404, 409], within(CALL_MS, left.remove({ force: true, v: true })));
  await remove();
  signal.throwIfAborted();
  const [program, ...args] = command ?? [];
  const created = await within(
    CALL_MS,
    docker.createContainer({
      ...options,
      name,
      WorkingDir: '/data',
      // Without the labels of a server's container.
      Labels: { 'dormouse.training': home.installation },
      ...(program !== undefined && { Entrypoint: [program], Cmd: args }),
      // If memory runs short, the kernel ends this run before any game.
      HostConfig: { ...limits, CpuShares: LOWEST, BlkioWeight: LEAST_WEIGHT, OomScoreAdj: 1_000 },
    }),
  );
  try {
    const stream = await openStream(created.attach({ stream: true, stdout: true, stderr: true }), signal);
    await within(CALL_MS, created.start());
    const end = () => void created.kill({ signal: 'SIGTERM' }).catch(() => undefined);
    stop?.addEventListener('abort', end, { once: true });
    for await (const { payload } of frames(stream)) onOutput(payload);
    const { StatusCode: code } = (await abortable(created.wait(), signal)) as { StatusCode: number };
    return code;
  } finally {
    await remove();
  }
}
