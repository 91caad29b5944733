import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';

/** A tiny image whose program behaves as its environment says: the games of the conformance tests. */
export const IMAGE = 'dormouse/conformance:4';

// Printing is one write, so that all lines appear or none. `sleep … & wait` lets the trap run at once.
const PROGRAM = `#!/bin/busybox sh
say() { test -n "$1" && /bin/busybox printf '%s\\n' "$1"; }
if test -n "$GAME_IGNORE_STOP"; then trap '' TERM; else trap 'say "$GAME_FAREWELL"; exit 0' TERM; fi
/bin/busybox nc -ll -p 25565 -e /bin/busybox true < /dev/null > /dev/null 2>&1 &
test -n "$GAME_ECHO" && /bin/busybox nc -ll -p "$GAME_ECHO" -e /bin/busybox cat < /dev/null > /dev/null 2>&1 &
dial() { if /bin/busybox nc -w 2 "$1" "$2" < /dev/null > /dev/null 2>&1; then say "reached $*"; else say "apart from $*"; fi; }
test -n "$GAME_DIALS" && say "$GAME_DIALS" | while read -r host port; do dial "$host" "$port"; done
test -n "$GAME_LEAVE" && say "$GAME_LEAVE" > /data/.install-curseforge.env
say "$GAME_PRINT"
test -n "$GAME_EXIT" && exit "$GAME_EXIT"
if test -n "$GAME_OOM"; then x=xxxxxxxx; while :; do x=$x$x; done; fi
while :; do /bin/busybox sleep 1000 & wait; done
`;

/** Builds the image unless it exists. Needs Debian's busybox-static. */
export async function busyboxImage(docker = new Docker()): Promise<void> {
  const there = await docker
    .getImage(IMAGE)
    .inspect()
    .catch(() => undefined);
  if (there) return;
  const root = await mkdtemp(join(tmpdir(), 'dormouse-image-'));
  try {
    for (const dir of ['bin', 'data', 'tmp']) await mkdir(join(root, dir));
    await copyFile('/bin/busybox', join(root, 'bin/busybox'));
    await symlink('busybox', join(root, 'bin/sh'));
    await writeFile(join(root, 'game'), PROGRAM);
    for (const program of ['bin/busybox', 'game']) await chmod(join(root, program), 0o755);
    const tar = spawn('tar', ['-C', root, '-c', '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [repo, tag] = IMAGE.split(':');
    const changes = ['ENTRYPOINT ["/game"]', 'WORKDIR /data'];
    const answer = await docker.importImage(tar.stdout, { repo, tag, changes });
    for await (const _ of answer) continue;
  } finally {
    await rm(root, { recursive: true });
  }
}
