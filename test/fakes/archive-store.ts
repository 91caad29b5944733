import { text } from 'node:stream/consumers';
import { createReadStream } from 'node:fs';
import type { ArchiveStore } from '../../src/backups/offsite/archive-store.ts';
import { filesMissing, storeAway } from '../../src/backups/errors.ts';

/** An off-site store in memory. A test sets `fault` and `held`. */
export interface FakeArchiveStore extends ArchiveStore {
  /** The archives by `<server>/<backup>`. */
  archives: Map<string, Buffer>;
  /** Each call, such as `send lobby/bak_1`; a removal names all of its archives. */
  calls: string[];
  /** Reports whether a call finds the store unreachable. */
  fault: (call: string) => boolean;
  /** Returns a promise that a call waits for. */
  held: (call: string) => Promise<void> | undefined;
  /** Whether the store no longer exists. */
  isLost: boolean;
}

export function fakeArchiveStore(): FakeArchiveStore {
  const archives = new Map<string, Buffer>();
  const keyOf = ({ serverId, id }: { serverId: string; id: string }) => `${serverId}/${id}`;
  const call = async (name: string, signal?: AbortSignal): Promise<void> => {
    fake.calls.push(name);
    const aborted = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => aborted.reject(signal.reason), { once: true });
    await Promise.race([fake.held(name), ...(signal ? [aborted.promise] : [])]);
    if (fake.fault(name) || fake.isLost) throw storeAway(new Error(name));
  };
  const fake: FakeArchiveStore = {
    archives,
    calls: [],
    fault: () => false,
    held: () => undefined,
    isLost: false,
    async send(_, { backup, file }, signal) {
      await call(`send ${keyOf(backup)}`, signal);
      const bytes = await text(createReadStream('', { fd: file, autoClose: false, encoding: 'latin1' }));
      archives.set(keyOf(backup), Buffer.from(bytes, 'latin1'));
      return bytes.length;
    },
    async sizeOf(backup) {
      await call(`size ${keyOf(backup)}`);
      return archives.get(keyOf(backup))?.length;
    },
    async *read(backup, { start, end }) {
      await call(`read ${keyOf(backup)}`);
      const bytes = archives.get(keyOf(backup));
      if (bytes === undefined) throw filesMissing(backup.id);
      yield bytes.subarray(start, end + 1);
    },
    async remove(refs) {
      await call(`remove ${refs.map(keyOf).join(' ')}`);
      for (const ref of refs) archives.delete(keyOf(ref));
    },
    async list() {
      await call('list');
      return [...archives.keys()].map((id) => ({ id, at: 1 }));
    },
    compact: () => call('compact'),
    isGone: () => fake.isLost,
  };
  return fake;
}
