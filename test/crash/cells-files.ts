import { setTimeout as delay } from 'node:timers/promises';
import { type Cell, pick, type Step } from './cell.ts';
import type { Client, Outcome } from './client.ts';
import { settled } from './cells-servers.ts';

/** Names and contents of what customers have put into a folder; of an archive, that it is there. */
type Tree = Record<string, string>;

const FOLDER = 'crash';
const ARCHIVE = 'all.tar.zst';

/** The files in one folder of a server that sleeps. */
export function files(client: Client, id: string): Cell<Tree> {
  const base = `/v1/servers/${id}/file`;
  const at = (name: string) => `${FOLDER}/${name}`;
  return {
    name: `files of ${id}`,
    initial: {},
    act(tree, random) {
      const text = `content ${Math.floor(random() * 1e9)} `.repeat(pick(random, [1, 50, 5_000]));
      const name = pick(random, ['a', 'b', 'deep/c']);
      const put = { ...tree, [name]: text };
      const steps: Step<Tree>[] = [
        {
          what: `write ${name}`,
          call: () => client.call('POST', base, { path: at(name), content: Buffer.from(text).toString('base64') }),
          next: () => put,
        },
        {
          what: `upload ${name}`,
          call: () =>
            client.call('POST', `${base}:upload?path=${encodeURIComponent(at(name))}`, undefined, { bytes: text }),
          next: () => put,
        },
      ];
      const from = Object.keys(tree).find((each) => each !== ARCHIVE);
      const to = ['x', 'y'].find((each) => !(each in tree));
      if (from !== undefined) {
        const { [from]: content = '', ...rest } = tree;
        steps.push({
          what: `delete ${from}`,
          call: () => client.call('POST', `${base}:delete`, { path: at(from) }),
          next: () => rest,
        });
        if (to !== undefined) {
          const body = { from: at(from), to: at(to) };
          steps.push(
            {
              what: `rename ${from} to ${to}`,
              call: () => client.call('POST', `${base}:rename`, body),
              next: () => ({ ...rest, [to]: content }),
            },
            {
              what: `copy ${from} to ${to}`,
              call: () => client.call('POST', `${base}:copy`, body),
              next: () => ({ ...tree, [to]: content }),
            },
          );
        }
      }
      return pick(random, [...steps, ...archiving(client, base, tree)]);
    },
    async read() {
      const found: Tree = {};
      for (const name of await namesIn(client, id, FOLDER)) found[name] = await contentOf(client, id, at(name));
      return found;
    },
  };
}

/** All of the folder into an archive; and out of it, over what is there: that is the same as long as nothing else was done. */
function archiving(client: Client, base: string, tree: Tree): Step<Tree>[] {
  if (Object.keys(tree).length === 0) return [];
  const path = `${FOLDER}/${ARCHIVE}`;
  if (ARCHIVE in tree) {
    const { [ARCHIVE]: _, ...rest } = tree;
    return [{ what: 'delete archive', call: () => client.call('POST', `${base}:delete`, { path }), next: () => rest }];
  }
  const paths = Object.keys(tree).map((name) => `${FOLDER}/${name}`);
  return [
    {
      what: 'archive',
      call: () => client.call('POST', `${base}:archive`, { paths, to: path }),
      next: () => ({ ...tree, [ARCHIVE]: 'an archive' }),
    },
  ];
}

async function namesIn(client: Client, id: string, path: string): Promise<string[]> {
  const listed = await client.call('GET', `/v1/servers/${id}/files?path=${encodeURIComponent(path)}`);
  if (listed.is === 'refused' && listed.status === 404) return [];
  if (listed.is !== 'done') throw new Error(`cannot list ${path} of ${id}: ${JSON.stringify(listed)}`);
  const { entries } = listed.json as { entries: { name: string; isDir: boolean }[] };
  const names: string[] = [];
  for (const { name, isDir } of entries) {
    const below = isDir ? await namesIn(client, id, `${path}/${name}`) : [];
    names.push(...(isDir ? below.map((each) => `${name}/${each}`) : [name]));
  }
  return names;
}

async function contentOf(client: Client, id: string, path: string): Promise<string> {
  if (path.endsWith(ARCHIVE)) return 'an archive';
  const { content } = await client.get<{ content: string }>(`/v1/servers/${id}/file?path=${encodeURIComponent(path)}`);
  return Buffer.from(content, 'base64').toString();
}

interface Kept {
  file: string;
  /** Contents of the file in the backups there are, oldest first. */
  backups: string[];
}

interface BackupView {
  id: string;
  state: string;
  createdAt: string;
  kind: string;
}

/** One file of a sleeping server, and the backups its owner makes of it. */
export function backups(client: Client, id: string): Cell<Kept> {
  const base = `/v1/servers/${id}`;
  /** What each backup holds; of one that was in flight, what was there then. */
  const holds = new Map<string, string>();
  const ownOf = (all: BackupView[]) =>
    all
      .filter(({ kind, state }) => kind === 'manual' && state !== 'failed')
      .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const own = async () => ownOf((await client.get<{ backups: BackupView[] }>(`${base}/backups`)).backups);
  const ofNth = async (nth: number, verb: string): Promise<Outcome> => {
    const listed = await client.call('GET', `${base}/backups`);
    // Nothing has been asked for yet.
    if (listed.is !== 'done') return { is: 'refused', status: 0, reason: 'not listed' };
    return client.call('POST', `${base}/backups/${ownOf(listed.json['backups'] as BackupView[])[nth]?.id}:${verb}`, {});
  };
  const made = async (backupId: string) => {
    for (const end = Date.now() + 240_000; Date.now() < end; await delay(50)) {
      const listed = await client.call('GET', `${base}/backups`);
      if (listed.is === 'unknown') return listed;
      if (listed.is === 'refused') continue;
      const found = (listed.json['backups'] as BackupView[]).find((each) => each.id === backupId);
      if (found?.state === 'ready') return { is: 'done', json: {} } as const;
      if (found?.state === 'failed') return { is: 'refused', status: 0, reason: 'failed' } as const;
    }
    return { is: 'unknown', status: 0 } as const;
  };
  return {
    name: `backups of ${id}`,
    initial: { file: '', backups: [] },
    act({ file, backups: all }, random) {
      const text = `kept ${Math.floor(random() * 1e9)}`;
      const write: Step<Kept> = {
        what: 'write',
        call: () =>
          client.call('POST', `${base}/file`, { path: 'kept.txt', content: Buffer.from(text).toString('base64') }),
        next: () => ({ file: text, backups: all }),
      };
      const back: Step<Kept> = {
        what: 'back up',
        async call() {
          const asked = await client.call('POST', `${base}/backups`, {});
          return asked.is === 'done' ? await made(String(asked.json['id'])) : asked;
        },
        next: () => ({ file, backups: [...all, file] }),
      };
      if (all.length === 0 || random() < 0.3) return pick(random, [write, back]);
      const nth = Math.floor(random() * all.length);
      const restore: Step<Kept> = {
        what: `restore ${nth}`,
        call: () => ofNth(nth, 'restore'),
        next: () => ({ file: all[nth] ?? '', backups: all }),
      };
      const remove: Step<Kept> = {
        what: `delete ${nth}`,
        call: () => ofNth(nth, 'delete'),
        next: () => ({ file, backups: all.toSpliced(nth, 1) }),
      };
      return pick(random, [restore, restore, remove, ...(all.length < 4 ? [back] : [remove])]);
    },
    async read() {
      await settled(client, id);
      for (const end = Date.now() + 240_000; Date.now() < end; await delay(50))
        if ((await own()).every(({ state }) => state === 'ready')) break;
      const file = (await namesIn(client, id, '')).includes('kept.txt') ? await contentOf(client, id, 'kept.txt') : '';
      const contents: string[] = [];
      for (const { id: backupId } of await own()) {
        if (!holds.has(backupId)) holds.set(backupId, await heldBy(backupId));
        contents.push(holds.get(backupId) ?? '');
      }
      return { file, backups: contents };
    },
  };

  /** By restoring it, and what was there behind it: what a backup is worth shows when it is used. */
  async function heldBy(backupId: string): Promise<string> {
    const present = (await namesIn(client, id, '')).includes('kept.txt')
      ? await contentOf(client, id, 'kept.txt')
      : undefined;
    const restored = await client.call('POST', `${base}/backups/${backupId}:restore`, {});
    if (restored.is !== 'done') return `a backup that is not restored: ${JSON.stringify(restored)}`;
    await settled(client, id);
    const held = (await namesIn(client, id, '')).includes('kept.txt') ? await contentOf(client, id, 'kept.txt') : '';
    if (present !== undefined) {
      const content = Buffer.from(present).toString('base64');
      await client.call('POST', `${base}/file`, { path: 'kept.txt', content });
    } else await client.call('POST', `${base}/file:delete`, { path: 'kept.txt' });
    return held;
  }
}
