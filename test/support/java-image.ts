import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import { JDK25 } from './needs.ts';

const run = promisify(execFile);

/**
 * Starts a game as `start-finalExec` of itzg/docker-minecraft-server does: the order of the options, CUSTOM_JAR_EXEC,
 * SETUP_ONLY. In place of a download, it copies the jar from the image.
 */
const START = `#!/bin/sh
cd /data
if [ "$EULA" != TRUE ]; then echo '[init] Please accept the Minecraft EULA at'; exit 1; fi
SERVER=$(echo "$TYPE" | tr A-Z a-z)-$VERSION-$PAPER_BUILD.jar
[ -e "$SERVER" ] || cp "/cores/$SERVER" . || exit 1
set -- $JVM_XX_OPTS \${INIT_MEMORY:+-Xms$INIT_MEMORY} \${MAX_MEMORY:+-Xmx$MAX_MEMORY}
if [ -n "$CUSTOM_JAR_EXEC" ]; then set -- "$@" $CUSTOM_JAR_EXEC; else set -- "$@" -jar "$SERVER"; fi
if [ "$SETUP_ONLY" = true ]; then echo "SETUP_ONLY: java $* nogui"; exit; fi
exec java "$@" nogui
`;
const LIBRARIES = ['libc', 'libdl', 'libpthread', 'libm', 'librt', 'libz'].map(
  (name) => `/lib/x86_64-linux-gnu/${name}.so`,
);

/**
 * Builds an image with a real Java 25 that stands in for the game image, with these jars by the names of their builds.
 * Needs the JDK and Debian's busybox-static.
 */
export async function buildJavaImage(
  docker: Docker,
  image: string,
  jars: Readonly<Record<string, string>>,
): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'dormouse-java-image-'));
  try {
    for (const dir of ['bin', 'data', 'tmp', 'cores', 'opt', 'lib64', 'lib/x86_64-linux-gnu']) {
      await mkdir(join(root, dir), { recursive: true });
    }
    const modules = 'java.se,jdk.unsupported,jdk.zipfs,jdk.crypto.ec,jdk.management';
    const slim = ['--strip-debug', '--no-header-files', '--no-man-pages', '--generate-cds-archive'];
    await run(join(JDK25, 'bin/jlink'), ['--add-modules', modules, ...slim, '--output', join(root, 'opt/java')]);
    const loader = '/lib64/ld-linux-x86-64.so.2';
    const { stdout } = await run('sh', ['-c', `ls ${LIBRARIES.map((path) => `${path}.*`).join(' ')}`]);
    for (const path of [loader, ...stdout.trim().split('\n')]) await cp(path, join(root, path), { dereference: true });
    await cp('/bin/busybox', join(root, 'bin/busybox'));
    for (const name of ['sh', 'cp', 'tr', 'timeout']) await symlink('busybox', join(root, 'bin', name));
    await writeFile(join(root, 'start'), START);
    await chmod(join(root, 'start'), 0o755);
    for (const [name, path] of Object.entries(jars)) await cp(path, join(root, 'cores', name));
    const tar = spawn('tar', ['-C', root, '-c', '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [repo, tag] = image.split(':');
    const changes = [
      'ENTRYPOINT ["/start"]',
      'WORKDIR /data',
      'ENV PATH=/opt/java/bin:/bin',
      'ENV JAVA_VERSION=jdk-25.0.3+9',
    ];
    const answer = await docker.importImage(tar.stdout, { repo, tag, changes });
    for await (const _ of answer) continue;
  } finally {
    await rm(root, { recursive: true });
  }
}
