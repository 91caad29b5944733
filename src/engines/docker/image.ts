import type Docker from 'dockerode';
import type { Logger } from 'pino';
import { createCache } from '../../kernel/cache.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { EngineError } from '../engine.ts';
import { engineError, unless, within } from './errors.ts';
import { jsonLines, openStream } from './streams.ts';

const PULL_MS = 15 * MINUTE_MS;
const LOOK_MS = 5_000;

/** Makes an image available without a registry, for example by building it. Resolves to false for an unknown image. */
export type ImageProvider = (docker: Docker, image: string, signal: AbortSignal) => Promise<boolean>;

/**
 * Returns a function that ensures that an image is present: it checks, calls `provide`, then pulls. Concurrent callers
 * that need the same image share the work, which is limited to 15 minutes. Rejects with EngineError
 * `image_pull_failed`.
 */
export function imageKeeper(docker: Docker, provide?: ImageProvider): (image: string) => Promise<void> {
  /** Downloads in progress. Finished ones are not cached. */
  const fetches = createCache<void>({ most: 1, ttlMs: () => 0 });

  async function fetch(image: string): Promise<void> {
    const signal = AbortSignal.timeout(PULL_MS);
    try {
      if (await provide?.(docker, image, signal)) return;
      await pull(docker, image, signal);
    } catch (error) {
      throw new EngineError('image_pull_failed', `The image ${image} is missing and could not be fetched.`, {
        suggestion: 'Try again. If that does not help, ask the operator to make the image available to Docker.',
        cause: error,
      });
    }
  }

  return async (image) => {
    if (await unless([404], within(30_000, docker.getImage(image).inspect()))) return;
    await fetches.get(image, 0, () => fetch(image));
  };
}

/** An image that this project builds. */
export interface OwnImage {
  image: string;
  /** Returns whether an image with these labels was built from code other than this version's. */
  isOutdated: (labels: Readonly<Record<string, string>>) => boolean | Promise<boolean>;
  provide: ImageProvider;
  log: Logger;
}

/**
 * Rebuilds one of our images if another version of the service built it. `imageKeeper` handles a missing image. Never
 * rejects: if the build fails, games continue with the old image, and the failure is logged.
 */
export async function renewImage(
  options: Docker.DockerOptions | undefined,
  { image, isOutdated, provide, log }: OwnImage,
): Promise<void> {
  try {
    const docker = new (await import('dockerode')).default(options);
    const there = await unless([404], within(LOOK_MS, docker.getImage(image).inspect()));
    if (!there || !(await isOutdated(there.Config.Labels ?? {}))) return;
    log.info({ image }, `${image} was built by another version; rebuilding it`);
    await provide(docker, image, AbortSignal.timeout(PULL_MS));
  } catch (error) {
    log.warn(
      { image, err: engineError(error) },
      `${image} could not be updated; servers may start with an older version`,
    );
  }
}

// Docker answers 200 immediately and reports failures as lines of the stream.
async function pull(docker: Docker, image: string, signal: AbortSignal): Promise<void> {
  const stream = await openStream(docker.pull(image), signal);
  try {
    for await (const line of jsonLines(stream)) {
      if (typeof line.error === 'string') throw new Error(line.error);
    }
  } finally {
    stream.destroy();
  }
  signal.throwIfAborted();
}
