import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Manager } from './manager.ts';
import { REGION_LABEL } from './service-spec.ts';
import { type Task, isOver } from './task.ts';
import { MINUTE_MS } from '../../kernel/units.ts';

const CHECK_MS = MINUTE_MS;
const PAUSE_MS = 200;
/** The check on a node: reads the service's token and writes it back to a file named after the node. */
const PROGRAM = `const fs = require('node:fs');
const token = fs.readFileSync('/shared/token', 'utf8');
if (token !== process.argv[1]) process.exit(3);
fs.writeFileSync('/shared/' + require('node:os').hostname(), token);`;

export interface SharedFolderOptions {
  manager: Manager;
  installation: string;
  /** The folder of all servers, here and on the nodes. */
  dir: string;
  /** `uid:gid` of games. */
  user: string;
  /** An image with Node at /usr/bin/node, on every node. */
  image: () => Promise<string>;
}

/**
 * Checks which of these nodes see the servers' folder as this machine does, both ways. Returns undefined for those, and
 * the problem for the others. A node with its own folder at the same path would create every world again there, and
 * lose the players' progress. Omits nodes that no longer respond.
 */
export async function checkSharedFolder(
  { manager, installation, dir, user, image }: SharedFolderOptions,
  nodeIds: readonly string[],
): Promise<Map<string, string | undefined>> {
  const token = randomBytes(12).toString('hex');
  const folder = join(dir, `.nodes-${token}`);
  const name = `dormouse-${installation}-files-${token.slice(0, 8)}`;
  await mkdir(folder, { recursive: true });
  try {
    await chmod(folder, 0o777);
    await writeFile(join(folder, 'token'), token, { mode: 0o644 });
    await manager.create({
      Name: name,
      TaskTemplate: {
        ContainerSpec: {
          Image: await image(),
          Command: ['/usr/bin/node', '-e', PROGRAM, token],
          Hostname: '{{.Node.ID}}',
          User: user,
          Init: true,
          ReadOnly: true,
          CapabilityDrop: ['ALL'],
          HealthCheck: { Test: ['NONE'] },
          Mounts: [{ Type: 'bind', Source: folder, Target: '/shared' }],
        },
        RestartPolicy: { Condition: 'none' },
        Placement: { Constraints: [`node.labels.${REGION_LABEL}!=none`] },
      },
      Mode: { GlobalJob: {} },
    });
    const { ended, present } = await endings(manager, name, nodeIds);
    const found = present.map(async (id) => [id, await troubleOf(ended.get(id), join(folder, id), token)] as const);
    return new Map(await Promise.all(found));
  } finally {
    await manager.remove(name);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits for the check to end. Returns its ended tasks by node, and those of the nodes that still respond. */
async function endings(
  manager: Manager,
  name: string,
  nodeIds: readonly string[],
): Promise<{ ended: Map<string, Task>; present: string[] }> {
  const deadline = performance.now() + CHECK_MS;
  for (;;) {
    const tasks = await manager.tasksOf(name);
    const ended = new Map(tasks.flatMap((task) => (isOver(task) && task.NodeID ? [[task.NodeID, task] as const] : [])));
    const ready = new Set((await manager.nodes()).flatMap(({ ID, Status }) => (Status.State === 'ready' ? [ID] : [])));
    const present = nodeIds.filter((id) => ready.has(id));
    if (present.every((id) => ended.has(id)) || performance.now() > deadline) return { ended, present };
    await sleep(PAUSE_MS);
  }
}

async function troubleOf(task: Task | undefined, file: string, token: string): Promise<string | undefined> {
  if (task === undefined) return 'the check did not end in time';
  const { State: state, Err: error = '', ContainerStatus: container } = task.Status;
  if (/bind source path does not exist/i.test(error)) return 'the folder is not mounted there';
  if (state !== 'complete') {
    return container?.ExitCode === 3
      ? 'another folder is at the same path there'
      : error || `the check ended with state ${state}`;
  }
  const back = await readFile(file, 'utf8').catch(() => undefined);
  return back === token ? undefined : 'files written there do not appear on this machine';
}
