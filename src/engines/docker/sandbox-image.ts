import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { contentHash, dockerfile, HASH_LABEL, writeRootfs } from '../sandbox.ts';
import { buildContext } from './build-context.ts';

/** The image's name, unless configured otherwise. */
export const DEFAULT_SANDBOX_IMAGE = 'dormouse/sandbox:latest';

/**
 * Ensures that the engine has the sandbox image of exactly this code under `tag`, without a registry. Resolves with its
 * id and whether it had to be built. Calls `progress` with each step, a line at a time. Rejects with the engine's error.
 */
export async function buildSandboxImage(
  docker: Docker,
  tag: string,
  progress: (line: string) => void,
): Promise<{ id: string; built: boolean }> {
  const hash = contentHash();
  const present = await inspect(docker, tag);
  if (present?.Config.Labels?.[HASH_LABEL] === hash) {
    progress(`${tag} is up to date`);
    return { id: present.Id, built: false };
  }
  const context = mkdtempSync(join(tmpdir(), 'dormouse-image-'));
  try {
    progress(`Collecting the files of ${tag}`);
    writeRootfs(join(context, 'rootfs'));
    writeFileSync(join(context, 'Dockerfile'), dockerfile);
    progress('Sending the files to the Docker Engine');
    const { archive, packed } = buildContext(context);
    // The only step that runs a program needs no network. A failed step leaves no container behind.
    const how = { t: tag, labels: { [HASH_LABEL]: hash }, networkmode: 'none', forcerm: true };
    const [output] = await Promise.all([docker.buildImage(archive, how), packed]);
    await follow(docker, output, progress);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  const made = await inspect(docker, tag);
  if (!made) throw new Error(`the Docker Engine built ${tag} but cannot find it`);
  if (present) await removeUnused(docker, present.Id);
  progress(`${tag} is built: ${Math.round(made.Size / 1_000_000)} MB`);
  return { id: made.Id, built: true };
}

async function inspect(docker: Docker, tag: string): Promise<Docker.ImageInspectInfo | undefined> {
  try {
    return await docker.getImage(tag).inspect();
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}

/** Removes the image that had the tag before, unless a container uses it. */
async function removeUnused(docker: Docker, id: string): Promise<void> {
  await docker
    .getImage(id)
    .remove()
    .catch(() => undefined);
}

/** Waits for the end of a build. Docker reports a failed step as an event of a stream that ends without an error. */
function follow(docker: Docker, output: NodeJS.ReadableStream, progress: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    const onEvent = (event: { stream?: string; error?: string }) => {
      if (event.error) failure = new Error(event.error);
      const text = event.stream?.trim();
      if (text) progress(text);
    };
    docker.modem.followProgress(output, (error) => (error || failure ? reject(error ?? failure!) : resolve()), onEvent);
  });
}

/** Implements `npm run sandbox-image`: builds the image, under another name if one is given. */
export async function main([tag = DEFAULT_SANDBOX_IMAGE]: readonly string[]): Promise<void> {
  try {
    await buildSandboxImage(new Docker(), tag, (line) => console.log(line));
  } catch (error) {
    console.error(`The image could not be built: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
