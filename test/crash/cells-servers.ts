import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, pick, type Step } from './cell.ts';
import type { Client, Outcome } from './client.ts';

interface Server {
  state: string;
  name: string;
  motd: string;
  properties: Record<string, string>;
  startErrorCode: string;
  startError: string;
}

const PASSING = new Set(['starting', 'stopping', 'installing']);
const SETTLED_MS = 240_000;

/** The server once it is on its way nowhere; undefined where there is none. */
export async function settled(client: Client, id: string): Promise<Server | undefined> {
  let last: Outcome | undefined;
  for (const end = Date.now() + SETTLED_MS; Date.now() < end; await delay(100)) {
    last = await client.call('GET', `/v1/servers/${id}`);
    if (last.is === 'refused' && last.status === 404) return undefined;
    const server = last.is === 'done' ? (last.json as unknown as Server) : undefined;
    if (server && !PASSING.has(server.state) && !(await isWorkedOn(client, id))) return server;
  }
  throw new Error(`${id} settles nowhere: ${JSON.stringify(last)}`);
}

async function isWorkedOn(client: Client, id: string): Promise<boolean> {
  const { state } = await client.get<{ state: string }>(`/v1/servers/${id}/machine`);
  return state === 'maintaining';
}

/** A server's owner wants it awake, or asleep. */
export function wish(client: Client, id: string): Cell<string> {
  const verb = (name: string, next: string): Step<string> => ({
    what: name,
    call: () => client.call('POST', `/v1/servers/${id}:${name}`, {}),
    next: () => next,
  });
  /** Not of a server that stops in order to start again: that is hurried, and starts. */
  const kill: Step<string> = {
    what: 'kill',
    async call() {
      const now = await client.call('GET', `/v1/servers/${id}`);
      const isStopping = now.is !== 'done' || now.json['state'] === 'stopping';
      return isStopping
        ? { is: 'refused', status: 0, reason: 'stops' }
        : client.call('POST', `/v1/servers/${id}:kill`, {});
    },
    next: () => 'asleep',
  };
  return {
    name: `wish of ${id}`,
    initial: 'asleep',
    act: (state, random) =>
      state === 'awake'
        ? pick(random, [verb('stop', 'asleep'), kill, verb('restart', 'awake'), verb('start', 'awake')])
        : pick(random, [verb('start', 'awake'), verb('start', 'awake'), verb('stop', 'asleep')]),
    async read() {
      const server = await settled(client, id);
      if (server?.state === 'running') return 'awake';
      return server?.state === 'hibernated' ? 'asleep' : `${server?.state}: ${server?.startError}`;
    },
  };
}

/** A server that comes and goes under one name. */
export function guest(client: Client, id: string): Cell<string> {
  return {
    name: `existence of ${id}`,
    initial: 'gone',
    act(state, random) {
      if (state === 'gone') {
        const body = { id, name: id, type: 'sandbox', version: '1.21.4', ramMb: 256 };
        return { what: 'create', call: () => client.call('POST', '/v1/servers', body), next: () => 'there' };
      }
      if (random() < 0.5) {
        const start = () => client.call('POST', `/v1/servers/${id}:${pick(random, ['start', 'stop'])}`, {});
        return { what: 'start or stop', call: start, next: () => 'there' };
      }
      return { what: 'delete', call: () => client.call('DELETE', `/v1/servers/${id}`), next: () => 'gone' };
    },
    read: async () => ((await settled(client, id)) === undefined ? 'gone' : 'there'),
  };
}

interface Settings {
  name: string;
  motd: string;
  difficulty: string;
  sftp: boolean;
  ports: string[];
}

/** What an owner sets of a server. */
export function settings(client: Client, id: string): Cell<Settings> {
  const post = (path: string, body: object) => () => client.call('POST', `/v1/servers/${id}${path}`, body);
  return {
    name: `settings of ${id}`,
    initial: { name: id, motd: '', difficulty: '', sftp: false, ports: [] },
    act(state, random) {
      const text = `v${Math.floor(random() * 1e6)}`;
      const change = (what: string, call: () => Promise<Outcome>, next: Partial<Settings>): Step<Settings> => ({
        what,
        call,
        next: () => ({ ...state, ...next }),
      });
      const difficulty = pick(random, ['easy', 'hard', 'normal']);
      const label = `p${Math.floor(random() * 3)}`;
      const [port] = state.ports;
      return pick(random, [
        change('rename', post(':update', { name: text }), { name: text }),
        change('motd', post(':setMotd', { motd: text }), { motd: text }),
        change('properties', post(':setProperties', { properties: { difficulty } }), { difficulty }),
        change('sftp', post(`/sftp:${state.sftp ? 'disable' : 'enable'}`, {}), { sftp: !state.sftp }),
        port === undefined
          ? change('add port', post('/ports', { containerPort: 24_454, label, proto: 'udp' }), { ports: [label] })
          : change('remove port', post('/ports:remove', { slot: 0 }), { ports: [] }),
      ]);
    },
    async read() {
      const { name, motd, properties } = (await settled(client, id))!;
      const { enabled } = await client.get<{ enabled: boolean }>(`/v1/servers/${id}/sftp`);
      const { ports } = await client.get<{ ports: { label: string }[] }>(`/v1/servers/${id}`);
      return {
        name,
        motd,
        difficulty: properties['difficulty'] ?? '',
        sftp: enabled,
        ports: ports.map((each) => each.label),
      };
    },
  };
}

/** An operator suspends a server, and lifts it. */
export function suspension(client: Client, id: string): Cell<boolean> {
  return {
    name: `suspension of ${id}`,
    initial: false,
    act: (suspended) => ({
      what: suspended ? 'unsuspend' : 'suspend',
      call: () =>
        suspended
          ? client.call('POST', `/v1/operator/servers/${id}:unsuspend`, {})
          : client.call('POST', `/v1/operator/servers/${id}:suspend`, { reason: 'a test' }),
      next: () => !suspended,
    }),
    async read() {
      const tried = await client.call('POST', `/v1/servers/${id}:start`, {});
      if (tried.is === 'refused') return tried.reason === 'SERVER_SUSPENDED';
      await client.call('POST', `/v1/servers/${id}:stop`, {});
      await settled(client, id);
      return false;
    },
  };
}
