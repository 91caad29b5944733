import { type Cell, pick, type Step } from './cell.ts';
import { settled } from './cells-servers.ts';
import type { Client, Outcome } from './client.ts';

/** How a list is changed whose entries customers tell by a name of their own. */
interface ListOptions {
  name: string;
  names: readonly string[];
  add: (name: string) => Promise<Outcome>;
  remove: (name: string) => Promise<Outcome>;
  read: () => Promise<string[]>;
}

/** Some of the names are in a list: added and removed, one at a time. */
function list({ name, names, add, remove, read }: ListOptions): Cell<string[]> {
  return {
    name,
    initial: [],
    act(present, random): Step<string[]> {
      const each = pick(random, names);
      return present.includes(each)
        ? { what: `remove ${each}`, call: () => remove(each), next: () => present.filter((other) => other !== each) }
        : { what: `add ${each}`, call: () => add(each), next: () => [...present, each].toSorted() };
    },
    read: async () => (await read()).toSorted(),
  };
}

/** Looks an entry up by its name, to call by its id. */
async function byName<Entry>(
  read: () => Promise<Entry[]>,
  is: (entry: Entry) => boolean,
  call: (entry: Entry) => Promise<Outcome>,
): Promise<Outcome> {
  const entry = await read().then(
    (all) => all.find(is),
    () => undefined,
  );
  // Where it could not even be looked up, nothing was asked for.
  return entry === undefined ? { is: 'refused', status: 0, reason: 'not found' } : await call(entry);
}

export function schedules(client: Client, id: string): Cell<string[]> {
  const base = `/v1/servers/${id}/schedules`;
  const all = async () => (await client.get<{ schedules: { id: string; cronExpr: string }[] }>(base)).schedules;
  return list({
    name: `schedules of ${id}`,
    names: ['1 1 1 1 *', '2 2 2 2 *', '3 3 3 3 *'],
    add: (cronExpr) => client.call('POST', base, { kind: 'start', cronExpr }),
    remove: (cronExpr) =>
      byName(
        all,
        (each) => each.cronExpr === cronExpr,
        (each) => client.call('POST', `${base}:delete`, { scheduleId: each.id }),
      ),
    read: async () => (await all()).map(({ cronExpr }) => cronExpr),
  });
}

export function members(client: Client, id: string): Cell<string[]> {
  const base = `/v1/servers/${id}/members`;
  const all = async () =>
    (await client.get<{ members: { memberId: string; email: string; role: string }[] }>(base)).members.filter(
      ({ role }) => role !== 'owner',
    );
  return list({
    name: `members of ${id}`,
    names: ['ada@example.com', 'bob@example.com'],
    add: (email) => client.call('POST', base, { email, role: 'member' }),
    remove: (email) =>
      byName(
        all,
        (each) => each.email === email,
        ({ memberId }) => client.call('POST', `${base}:remove`, { memberId }),
      ),
    read: async () => (await all()).map(({ email }) => email),
  });
}

export function templates(client: Client, id: string): Cell<string[]> {
  const all = async () => (await client.get<{ templates: { id: string; name: string }[] }>('/v1/templates')).templates;
  return list({
    name: 'templates',
    names: ['one', 'two'],
    add: (name) => client.call('POST', '/v1/templates', { serverId: id, name }),
    remove: (name) =>
      byName(
        all,
        (each) => each.name === name,
        (each) => client.call('POST', `/v1/templates/${each.id}:delete`, {}),
      ),
    read: async () => (await all()).map(({ name }) => name).filter((name) => name === 'one' || name === 'two'),
  });
}

/** Players' lists of a server, asleep or awake. */
export function players(client: Client, id: string): Cell<string[]> {
  const base = `/v1/servers/${id}/players`;
  const set = (name: string, on: boolean) =>
    name.startsWith('op ')
      ? client.call('POST', `${base}:setOp`, { name: name.slice(3), op: on })
      : client.call('POST', `${base}:setBan`, { name: name.slice(4), banned: on });
  return list({
    name: `players' lists of ${id}`,
    names: ['op Alex', 'op Steve', 'ban Griefer', 'ban Alt'],
    add: (name) => set(name, true),
    remove: (name) => set(name, false),
    async read() {
      await settled(client, id);
      const { ops, banned } = await client.get<{ ops: Named[]; banned: Named[] }>(base);
      const nameOf = (each: Named) => (typeof each === 'string' ? each : each.name);
      return [...ops.map((each) => `op ${nameOf(each)}`), ...banned.map((each) => `ban ${nameOf(each)}`)];
    },
  });
}

type Named = string | { name: string };

/** Mods that a registry on this machine has. */
export function mods(client: Client, id: string, projects: readonly string[]): Cell<string[]> {
  const base = `/v1/servers/${id}/mods`;
  return list({
    name: `mods of ${id}`,
    names: projects,
    add: (projectId) => client.call('POST', base, { projectId }),
    remove: (projectId) => client.call('POST', `${base}:remove`, { projectId }),
    read: async () =>
      (await client.get<{ mods: { projectId: string }[] }>(base)).mods.map(({ projectId }) => projectId),
  });
}

/** API keys: those that were handed out and not revoked open the service, the others do not. */
export function keys(client: Client): Cell<string[]> {
  const session = { session: true };
  const secrets = new Map<string, string>();
  const all = async () =>
    (await client.get<{ keys: { keyId: string; name: string }[] }>('/v1/session/keys', session)).keys;
  return list({
    name: 'API keys',
    names: ['robot', 'backup script'],
    async add(name) {
      const made = await client.call('POST', '/v1/session/keys', { name, scopes: ['servers:read'] }, session);
      if (made.is === 'refused' && made.reason === 'PASSWORD_REQUIRED') await client.signIn();
      secrets.delete(name);
      if (made.is === 'done') secrets.set(name, String(made.json['apiKey']));
      return made;
    },
    remove: (name) =>
      byName(
        all,
        (each) => each.name === name,
        ({ keyId }) => client.call('POST', '/v1/session/keys:revoke', { keyId }, session),
      ),
    async read() {
      const listed = (await all()).map(({ name }) => name).filter((name) => ['robot', 'backup script'].includes(name));
      for (const [name, key] of secrets) {
        const opens = (await client.call('GET', '/v1/whoami', undefined, { key })).is === 'done';
        if (opens !== listed.includes(name))
          listed.push(`${name}: ${opens ? 'opens though it is revoked' : 'is dead'}`);
      }
      return listed;
    },
  });
}
