import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { globSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';

const ROOT = join(import.meta.dirname, '../..');
const NODE = realpathSync(process.execPath);
const LIBRARIES = ['/usr/lib:/usr/lib:ro', '/usr/lib:/lib:ro', '/lib64:/lib64:ro'];

/**
 * Mounts of this machine's files, in place of the image's base and the modules of its first stage. Both would need a
 * registry.
 */
export const STAND_INS = [
  ...LIBRARIES,
  `${NODE}:/usr/local/bin/node:ro`,
  `${join(ROOT, 'node_modules')}:/opt/dormouse/node_modules:ro`,
];

/**
 * Builds the last stage of the Dockerfile under `tag` without its Debian packages. The base has only busybox and a user
 * `node`. Needs Debian's busybox-static.
 */
export async function buildStandIn(docker: Docker, tag: string): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), 'dormouse-build-'));
  try {
    const base = join(context, 'base');
    for (const folder of ['bin', 'etc', 'opt/dormouse/node_modules', 'tmp', 'usr/local/bin'])
      await mkdir(join(base, folder), { recursive: true });
    await cp('/bin/busybox', join(base, 'bin/busybox'));
    for (const applet of ['sh', 'mkdir', 'chown', 'cat']) await symlink('busybox', join(base, 'bin', applet));
    await writeFile(join(base, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n');
    await writeFile(join(base, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
    const lines = lastStage().replace(/^COPY --from=modules .*\n/m, '');
    const started =
      'FROM scratch\nENV PATH=/usr/local/bin:/bin\nCOPY base/ /\nRUN ["/bin/busybox", "chmod", "1777", "/tmp"]\n';
    await writeFile(join(context, 'Dockerfile'), `${started}${lines}`);
    for (const [, names = ''] of lines.matchAll(/^COPY (.+) \S+$/gm)) {
      for (const name of names.split(' ').flatMap((each) => globSync(each, { cwd: ROOT })))
        await cp(join(ROOT, name), join(context, name), { recursive: true });
    }
    const options = { t: tag, networkmode: 'none', forcerm: true };
    await followed(docker, await docker.buildImage({ context, src: ['.'] }, options));
  } finally {
    await rm(context, { recursive: true });
  }
}

/** Returns the last stage of the Dockerfile, without its FROM line and its Debian packages, which need a network. */
export function lastStage(): string {
  const [, , stage = ''] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split(/^FROM .*\n/m);
  return stage.replace(/^RUN apt-get (?:.*\\\n)*.*\n/m, '');
}

/** Waits for the end of a build. Rejects if a step fails, which the engine reports as a line of output. */
export async function followed(docker: Docker, output: NodeJS.ReadableStream): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let failure: Error | undefined;
    const onEvent = ({ error }: { error?: string }) => {
      if (error !== undefined) failure = new Error(error);
    };
    docker.modem.followProgress(output, (error) => (error || failure ? reject(error ?? failure!) : resolve()), onEvent);
  });
}
