import test from 'ava';
import Docker from 'dockerode';
import { isOutdated } from '../../src/sandbox/image-content.ts';
import { buildSandboxImage } from '../../src/engines/docker/sandbox-image.ts';
import { joinBot } from '../support/bot.ts';
import { isHere } from '../support/needs.ts';

const TAG = 'dormouse/sandbox-image-test:latest';

test.runIf(isHere('docker'))(
  'the image builds from scratch, runs without privileges, and keeps its world in a volume',
  async (t) => {
    t.timeout(300_000);
    const docker = new Docker();
    const lines: string[] = [];
    const { id } = await buildSandboxImage(docker, TAG, (line) => lines.push(line));
    const again = await buildSandboxImage(docker, TAG, (line) => lines.push(line));
    t.deepEqual(again, { id, built: false });
    t.is(lines.at(-1), `${TAG} is up to date`);
    const { Labels } = (await docker.getImage(TAG).inspect()).Config;
    t.false(isOutdated(Labels));
    t.true(isOutdated({ ...Labels, 'dormouse.sandbox.hash': 'of another version' }));
    t.false(isOutdated({}));
    // Another build of the same code may use its layers at this moment.
    t.teardown(() => docker.getImage(TAG).remove({ force: true, noprune: true }));
    const { Config } = (await docker.getImage(TAG).inspect()) as { Config: Record<string, unknown> };
    t.is(Config.User, '1000:1000');
    t.is(Config.StopSignal, 'SIGTERM');
    t.is(Config.Healthcheck, undefined);

    const volume = `dormouse-image-test-${process.pid}`;
    await docker.createVolume({ Name: volume });
    t.teardown(() => docker.getVolume(volume).remove());
    const start = async (...env: string[]) => {
      const container = await docker.createContainer({
        Image: TAG,
        Env: ['EULA=TRUE', 'VERSION=1.21.4', 'MODE=creative', 'ONLINE_MODE=FALSE', ...env],
        ExposedPorts: { '25565/tcp': {} },
        HostConfig: {
          Binds: [`${volume}:/data`],
          CapDrop: ['ALL'],
          SecurityOpt: ['no-new-privileges'],
          ReadonlyRootfs: true,
          Tmpfs: { '/tmp': '' },
          Init: true,
          Memory: 256 * 1024 * 1024,
          MemorySwap: 256 * 1024 * 1024,
          PidsLimit: 128,
          PortBindings: { '25565/tcp': [{ HostIp: '127.0.0.1', HostPort: '0' }] },
        },
      });
      t.teardown(() => container.remove({ force: true, v: true }));
      await container.start();
      return container;
    };
    const first = await start();
    const ann = await joinBot({ port: await readyPort(first), version: '1.21.4', name: 'Ann' });
    await ann.placeBlock({ x: 2, y: 4, z: 1 }, 'stone');
    await first.stop({ t: 20 });
    t.is((await first.inspect()).State.ExitCode, 0);
    t.is(await ann.ended, 'Server closed');

    const second = await start();
    const bob = await joinBot({ port: await readyPort(second), version: '1.21.4', name: 'Bob' });
    t.is(await bob.blockAt({ x: 2, y: 4, z: 1 }), 'stone');
    await bob.end();
    await second.stop({ t: 20 });

    const greedy = await start('SANDBOX_OUT_OF_MEMORY=allocate');
    await greedy.wait();
    const { State } = await greedy.inspect();
    t.true(State.OOMKilled);
    t.is(State.ExitCode, 137);
  },
);

/** Waits until the game is ready, and returns its port on this machine. */
async function readyPort(container: Docker.Container): Promise<number> {
  const logs = await container.logs({ follow: true, stdout: true, stderr: true });
  try {
    let text = '';
    for await (const chunk of logs) {
      text += String(chunk);
      if (/Done \(\d/.test(text)) break;
    }
    if (!/Done \(\d/.test(text)) throw new Error(`the container ended:\n${text}`);
  } finally {
    (logs as unknown as { destroy(): void }).destroy();
  }
  const { NetworkSettings } = await container.inspect();
  return Number(NetworkSettings.Ports['25565/tcp']![0]!.HostPort);
}
