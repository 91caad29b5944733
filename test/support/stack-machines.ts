import { execFile } from 'node:child_process';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { type ShellSession, openSession } from '../docs/session.ts';
import { type SwarmNode, testMachines } from './swarm.ts';

/** Machines as an operator has them: each with an engine at the usual place, a folder to mount on, and a shell. */
export interface StackMachines {
  nodes: (SwarmNode & { shell: ShellSession })[];
  /** The folder that all machines mount. It is on this machine, in place of a storage server. */
  shared: string;
}

const run = promisify(execFile);

/**
 * Replacements for commands of the documentation page; all others are this machine's programs. `ssh` enters the other
 * machine's namespaces. `mount` binds the shared folder, because there is no NFS. The two commands that build images
 * find those that the test has already built.
 */
const COMMANDS = `
unset -f docker curl npm npx
docker() {
  case "$1 \${*: -1}" in
    'build .') if [[ $3 = dormouse:1 ]]; then [[ $(command docker images -q "$3") ]]
      else printf 'FROM dormouse:1\\nLABEL release=%s\\n' "$3" | DOCKER_BUILDKIT=0 command docker build -qt "$3" -; fi ;;
    'run sandbox-image') [[ $(command docker images -q dormouse/sandbox) ]] ;;
    *) command docker "$@" ;;
  esac
}
mount() { grep -q "^storage:/dormouse $1 nfs4 " /etc/fstab && command mount --bind "$SHARED" "$1"; }
sudo() { if [[ $1 = -u ]]; then shift 2; fi; "$@"; }
ssh() { local pid="PID_$1"; shift; nsenter --net="/proc/\${!pid}/ns/net" --uts="/proc/\${!pid}/ns/uts" --mount="/proc/\${!pid}/ns/mnt" "$@"; }
`;

/** Prepares machines with running engines. They end with the test. */
export async function stackMachines(
  t: ExecutionContext,
  hostnames: readonly string[],
  env: Record<string, string>,
): Promise<StackMachines> {
  const machines = await testMachines(t, hostnames);
  const shared = join(machines.within, 'shared');
  await mkdir(shared, { mode: 0o750 });
  await chown(shared, 1_000, 1_000);
  const pids = machines.nodes.map(({ name, networkPid }) => [`PID_${name}`, String(networkPid)] as const);
  const settings = {
    ...env,
    ...Object.fromEntries(pids),
    SHARED: shared,
    // The ports of the documentation page: each machine has all of its ports free.
    HTTP_PORT: '8080',
    PROXY_PORT: '25565',
    SFTP_PORT: '2022',
  };
  const nodes = await Promise.all(
    machines.nodes.map(async (node) => {
      await startAtUsualPlace(node);
      const shell = await openSession(t, settings, { within: within(node) });
      for (const command of [`cd '${shell.folder}'`, COMMANDS]) await shell.run(command);
      return Object.assign(node, { shell });
    }),
  );
  return { nodes, shared };
}

/**
 * Gives a machine its own /run, /srv and mount table, which other processes do not see, and starts its engine. The
 * engine's socket is at the usual place.
 */
async function startAtUsualPlace(node: SwarmNode): Promise<void> {
  const inside = (...command: string[]) => run('nsenter', [`--mount=/proc/${node.networkPid}/ns/mnt`, ...command]);
  for (const folder of ['run', 'srv']) {
    await mkdir(join(node.dir, folder));
    await inside('mount', '--bind', join(node.dir, folder), `/${folder}`);
  }
  await writeFile(join(node.dir, 'fstab'), '');
  await writeFile('/etc/fstab', '', { flag: 'a' });
  await inside('mount', '--bind', join(node.dir, 'fstab'), '/etc/fstab');
  await node.start();
  await writeFile(join(node.dir, 'run/docker.sock'), '');
  await inside('mount', '--bind', node.socketPath, '/run/docker.sock');
}

function within({ networkPid }: SwarmNode): string[] {
  const kinds = { net: 'net', uts: 'uts', mount: 'mnt' };
  return ['nsenter', ...Object.entries(kinds).map(([flag, kind]) => `--${flag}=/proc/${networkPid}/ns/${kind}`)];
}
