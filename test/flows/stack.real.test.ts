import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { partsOf, readPage } from '../docs/blocks.ts';
import { connect } from '../sftp/support.ts';
import { type RawBot, joinRaw } from '../support/bot.ts';
import { endProcess } from '../support/end-process.ts';
import { isHere } from '../support/needs.ts';
import { freePort } from '../support/service.ts';
import { buildDormouse, buildMariadb, buildPostgres } from '../support/stack-images.ts';
import { type StackMachines, stackMachines } from '../support/stack-machines.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 300_000;
const VERSION = '1.20.4';
const ADDRESS = /192\.168\.7\.(\d)/g;

test.runIf(isHere('swarm', 'postgres', 'mariadb', 'haproxy'))(
  'on a three-machine stack set up as documented, players stay through a service failure and an update',
  async (t) => {
    t.timeout(1_800_000);
    // Stand-ins for the official images, which need a registry.
    const images = { POSTGRES_IMAGE: 'postgres:stand-in', MARIADB_IMAGE: 'mariadb:stand-in' };
    const machines = await stackMachines(t, ['one', 'two', 'three'], images);
    t.timeout(1_800_000);
    const stack = new Stack(t, machines);
    const [first, second, third] = machines.nodes as [Machine, Machine, Machine];
    await buildImages(t, first.docker, images);
    const [mounted = '', joined = '', secrets = '', released = '', deployed = '', told = '', renewed = '', ...rest] =
      blocks();
    const [backedUp = '', restored = ''] = rest;
    await Promise.all([first, second].map(({ shell }) => shell.run(mounted)));
    // The mount is missing on the third machine.
    const [folder = '', ...mounting] = mounted.split('\n').filter((command) => /^[^#]/.test(command));
    await third.shell.run(folder);
    for (const block of [joined, secrets, released, deployed]) await stack.onFirst(block);

    const before = await stack.serving();
    await stack.onFirst(told);
    await stack.signIn();
    stack.took('to the first answer');
    t.not(before, third, 'a service without the folder does not serve');
    await stack.until('no games start there', async () => (await stack.node(third)).state === 'closed');
    t.regex((await stack.node(third)).trouble, /not mounted there/);
    for (const command of mounting) await third.shell.run(command);
    await stack.until('games start there', async () => (await stack.node(third)).state === 'ready');
    await stack.until('the other stands by', async () => (await stack.standing()).length === 1);
    stack.took('to three machines with the folder');
    await stack.call('POST', '/v1/servers', { name: 'Lobby', version: VERSION, ramMb: 512 });
    const database = (await stack.call('POST', '/v1/servers/lobby/database', {})) as Record<string, string>;
    t.is(`${database['host']}:${database['port']}`, 'mariadb:3306');
    const login = (await stack.call('POST', '/v1/servers/lobby/sftp:enable', {})) as SftpLogin;
    t.is(login.host, 'dormouse.example.org');
    const sftpPort = await stack.balance();
    await stack.until('SFTP leads to it', () => signIn(t, sftpPort, login));
    const steve = await stack.join(first, 'Steve');
    const alex = await stack.join(second, 'Alex');
    await talks(steve, alex, 'by two proxies');
    stack.took('to two players');

    await (await containerOf(before, 'dormouse_(?:one|two)')).kill();
    const after = await stack.serving();
    stack.took(`to a service on ${after.name}, after one on ${before.name}`);
    await talks(alex, steve, 'with the other service');
    await stack.until('it knows who plays', async () => (await stack.online()) === 'Alex,Steve');
    await stack.until('SFTP follows', () => signIn(t, sftpPort, login));

    await stack.onFirst(renewed);
    await stack.until('both are the new release', async () => {
      const tasks = (await first.docker.listTasks({ filters: { 'desired-state': ['running'] } })) as Task[];
      const running = tasks.filter(({ Status }) => Status.State === 'running');
      return running.filter(({ Spec }) => Spec.ContainerSpec.Image === 'dormouse:2').length === 2;
    });
    await stack.serving();
    stack.took('to the new release');
    await talks(steve, alex, 'with the new release');
    await stack.until('it knows who plays', async () => (await stack.online()) === 'Alex,Steve');
    const ben = await stack.join(
      machines.nodes.find((machine) => machine !== after)!,
      'Ben',
    );
    await talks(ben, steve, 'and somebody new');
    await Promise.all([steve, alex, ben].map((player) => player.end()));
    await stack.call('POST', '/v1/servers/lobby:stop', {});
    await stack.until('the game is saved', async () => {
      return ((await stack.call('GET', '/v1/servers/lobby')) as { state: string }).state === 'hibernated';
    });
    stack.took('to the last player');

    await stack.onFirst(backedUp);
    await stack.call('POST', '/v1/servers', { name: 'Later', version: VERSION, ramMb: 512 });
    await stack.onFirst(restored);
    await stack.serving();
    const { servers } = (await stack.call('GET', '/v1/servers')) as { servers: { id: string; state: string }[] };
    t.deepEqual(
      servers.map(({ id, state }) => ({ id, state })),
      [{ id: 'lobby', state: 'hibernated' }],
    );
    stack.took('to what was backed up');
  },
);

type Machine = StackMachines['nodes'][number];

interface SftpLogin {
  host: string;
  username: string;
  password: string;
}

/** Signs in to SFTP through the balancer of the page. */
async function signIn(t: ExecutionContext, port: number, login: SftpLogin): Promise<true> {
  (await connect(t, { port, login }, { readyTimeout: 20_000 })).end();
  return true;
}

interface Task {
  Spec: { ContainerSpec: { Image: string } };
  Status: { State: string };
}

/** Returns the page's blocks for the machines (`# on one`), in order. */
function blocks(): string[] {
  return partsOf(readPage('docs/swarm.md'))
    .filter(({ language, text }) => language === 'sh' && text.startsWith('# on '))
    .map(({ text }) => text);
}

async function buildImages(t: ExecutionContext, docker: Docker, images: Record<string, string>): Promise<void> {
  const { POSTGRES_IMAGE: postgres = '', MARIADB_IMAGE: mariadb = '' } = images;
  const sandbox = await docker.loadImage(await new Docker().getImage('dormouse/sandbox:latest').get());
  for await (const _ of sandbox) continue;
  await Promise.all([
    buildDormouse(docker, 'dormouse:1'),
    buildPostgres(docker, postgres),
    buildMariadb(docker, mariadb),
  ]);
  t.log('images built');
}

async function containerOf({ docker }: Machine, name: string): Promise<Docker.Container> {
  const [found] = await docker.listContainers({ filters: { name: [name] } });
  return docker.getContainer(found?.Id ?? name);
}

async function talks(from: RawBot, to: RawBot, text: string): Promise<void> {
  from.chat(text);
  await to.waitChat(new RegExp(text), PATIENCE_MS);
}

/** The deployed stack, seen from the operator. */
class Stack {
  readonly #t: ExecutionContext;
  readonly #machines: StackMachines;
  readonly #began = performance.now();
  #apiKey = '';
  #baseUrl = '';

  constructor(t: ExecutionContext, machines: StackMachines) {
    this.#t = t;
    this.#machines = machines;
    t.teardown(async () => {
      if (!t.passed) for (const machine of machines.nodes) await this.#tell(machine);
    });
  }

  took(what: string): void {
    this.#t.log(`${Math.round((performance.now() - this.#began) / 1_000)} s ${what}`);
  }

  async onFirst(block: string): Promise<void> {
    await this.#machines.nodes[0]!.shell.run(this.#here(block));
  }

  /** Replaces the page's addresses by those of the machines. */
  #here(text: string): string {
    return text.replaceAll(ADDRESS, (_, n: string) => this.#machines.nodes[Number(n) - 1]!.address);
  }

  /** Waits for a ready service. Resolves with its machine. */
  async serving(): Promise<Machine> {
    return this.until('a service is ready', async () => {
      let found: Machine | undefined;
      for (const machine of this.#machines.nodes) {
        const url = `http://${machine.address}:8080`;
        const isReady = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) }).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isReady) [found, this.#baseUrl] = [machine, url];
      }
      return found;
    });
  }

  async signIn(): Promise<void> {
    const first = JSON.parse(await readFile(join(this.#machines.shared, 'first-run.json'), 'utf8')) as {
      apiKey: string;
    };
    this.#apiKey = first.apiKey;
  }

  /** Calls the active service. Repeats the call if no service is active, because a busy machine may end services. */
  async call(method: string, path: string, body?: object): Promise<unknown> {
    for (;;) {
      const headers = { 'x-api-key': this.#apiKey };
      const sent = fetch(this.#baseUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const answer = await sent.catch(() => undefined);
      const text = await answer?.text();
      if (answer?.ok) return JSON.parse(text!) as unknown;
      if (answer && answer.status !== 503) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      await this.serving();
    }
  }

  async node({ name }: Machine): Promise<{ state: string; trouble: string }> {
    const { nodes } = (await this.call('GET', '/v1/operator/nodes')) as {
      nodes: { node: string; state: string; trouble: string }[];
    };
    return nodes.find(({ node }) => node === name)!;
  }

  /** Returns the machines whose service is a standby. */
  async standing(): Promise<Machine[]> {
    const asked = this.#machines.nodes.map(async (machine) => {
      const answer = await fetch(`http://${machine.address}:8080/readyz`, {
        signal: AbortSignal.timeout(10_000),
      }).catch(() => undefined);
      return answer?.status === 503 ? [machine] : [];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Runs the page's balancer for SFTP until the test ends. Resolves with its port. */
  async balance(): Promise<number> {
    const { text: config } = partsOf(readPage('docs/swarm.md')).find(({ file }) => file === 'haproxy.cfg')!;
    const port = await freePort();
    const file = join(dirname(this.#machines.shared), 'haproxy.cfg');
    await writeFile(file, this.#here(config).replace('bind :2022', `bind 127.0.0.1:${port}`));
    const env = { PATH: `${process.env.PATH}:/usr/sbin` };
    const program = spawn('haproxy', ['-db', '-f', file], { env, stdio: 'ignore' });
    await once(program, 'spawn');
    this.#t.teardown(() => endProcess(program.pid!));
    return port;
  }

  async online(): Promise<string> {
    const { online } = (await this.call('GET', '/v1/servers/lobby/players')) as { online: string[] };
    return online.toSorted().join();
  }

  /** Joins through the proxy of this machine once it listens. */
  async join({ address: host }: Machine, name: string): Promise<RawBot> {
    const options = { host, port: 25_565, version: VERSION, fakeHost: 'lobby.play.example.org', timeoutMs: 120_000 };
    return this.until(`${name} is in`, () => joinRaw({ ...options, name }));
  }

  until<T>(what: string, ask: () => T) {
    return until({ what, everyMs: 500, withinMs: PATIENCE_MS, despiteErrors: true }, ask);
  }

  /** Logs the tasks and the last output of a machine's containers after a failure. */
  async #tell({ name, docker }: Machine): Promise<void> {
    const tasks = (await docker.listTasks().catch(() => [])) as (Task & { Status: { Err?: string } })[];
    this.#t.log(
      name,
      tasks.map(({ Spec, Status }) => [Spec.ContainerSpec.Image, Status.State, Status.Err].join(' ')),
    );
    for (const { Id: id, Names: names } of await docker.listContainers({ all: true }).catch(() => [])) {
      const lines = docker.getContainer(id).logs({ stdout: true, stderr: true, tail: 15 });
      this.#t.log(name, names[0], (await lines.catch(String)).toString());
    }
  }
}
