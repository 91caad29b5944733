import { access } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { Logger } from 'pino';
import type { DockerEngineOptions } from './docker/docker.ts';
import { unless, within } from './docker/errors.ts';
import { type ImageProvider, imageKeeper } from './docker/image.ts';

const PING_MS = 5_000;

/** The values of `ENGINE`. */
export type EngineSetting = 'docker' | 'swarm' | 'process' | 'auto';

export interface EngineChoice {
  docker?: DockerEngineOptions['docker'];
  /** The image of the sandbox core. `auto` does not choose Docker if this image is unavailable. */
  image: string;
  provideImage?: ImageProvider;
  /** Whether games of this installation have run in containers before. */
  usedDocker?: boolean;
  log: Logger;
}

/**
 * Chooses the engine. `auto` chooses Docker if the Docker Engine responds and the image is present or available.
 * Otherwise it chooses child processes and logs the reason. An installation that has used Docker waits for it, because
 * its containers confine code uploaded by tenants. A setting that names an engine always applies. If it names Docker
 * and Docker does not respond, an error with the remedy is logged, because Docker may still be starting.
 */
export async function chooseEngine(
  setting: EngineSetting,
  choice: EngineChoice,
): Promise<'docker' | 'swarm' | 'process'> {
  const { log, image } = choice;
  if (setting === 'docker' && !(await answers(choice)))
    log.error(
      'ENGINE=docker, but the Docker Engine at DOCKER_HOST does not respond. Games cannot start without it: ' +
        'start Docker, or set ENGINE=process.',
    );
  if (setting !== 'auto') return setting;
  const why = await whyNotDocker(choice);
  if (why === undefined) {
    log.info({ engine: 'docker' }, `games run in containers: the Docker Engine answers and has ${image}`);
    return 'docker';
  }
  if (choice.usedDocker) {
    log.error(
      `games ran in containers before, so they wait for Docker (${why}); set ENGINE=process to run them as processes`,
    );
    return 'docker';
  }
  log.info({ engine: 'process' }, `games run as processes on this machine: ${why}`);
  return 'process';
}

async function whyNotDocker(choice: EngineChoice): Promise<string | undefined> {
  const docker = await answers(choice);
  if (docker === undefined) return 'no Docker Engine responds';
  const { image, provideImage } = choice;
  try {
    if (await unless([404], within(PING_MS, docker.getImage(image).inspect()))) return undefined;
    await imageKeeper(docker, provideImage)(image);
    return undefined;
  } catch {
    return `the Docker Engine answers, but ${image} is missing and cannot be pulled`;
  }
}

/** Returns a client of the Docker Engine; undefined if the engine does not respond. */
async function answers({ docker: options }: EngineChoice): Promise<Docker | undefined> {
  const { socketPath } = options ?? {};
  try {
    // Check the socket first: loading the client takes a tenth of a second.
    if (typeof socketPath === 'string') await access(socketPath);
    const docker = new (await import('dockerode')).default(options);
    await within(PING_MS, docker.ping());
    return docker;
  } catch {
    return undefined;
  }
}
