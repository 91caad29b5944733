import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { type Jail, type JailOptions, openJail } from '../../src/jail/jail.ts';
import { StatusError } from '../../src/kernel/status.ts';

export interface Cage {
  jail: Jail;
  /** The data root. */
  root: string;
  /** A directory beside the data root that no operation may reach. Holds the file `secret`. */
  outside: string;
  put: (path: string, content?: string) => void;
  see: (path: string) => string;
}

export async function cage(t: ExecutionContext, options?: JailOptions): Promise<Cage> {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-jail-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return await cageIn(t, folder, options);
}

/** Opens a cage in an empty folder, which the caller removes. */
export async function cageIn(t: ExecutionContext, folder: string, options?: JailOptions): Promise<Cage> {
  const [root, outside] = [join(folder, 'root'), join(folder, 'root-sibling')];
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'OUTSIDE');
  const jail = await openJail(root, options);
  t.teardown(() => jail.close());
  return {
    jail,
    root,
    outside,
    put(path, content = '') {
      mkdirSync(join(root, posix.dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    see: (path) => readFileSync(join(root, path), 'utf8'),
  };
}

export async function read(jail: Jail, path: string): Promise<string> {
  return await text((await jail.open(path)).stream());
}

export async function write(jail: Jail, path: string, content: string): Promise<void> {
  await using replacement = await jail.replace(path);
  await replacement.write(Buffer.from(content));
  await replacement.commit();
}

export async function names(jail: Jail, path: string): Promise<string[]> {
  const all: string[] = [];
  for await (const batch of jail.entries(path)) all.push(...batch.map(({ name }) => name));
  return all.sort();
}

export async function each<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Every operation that accepts a path, by name. Reads need an existing path; writes accept any. */
export const EVERY: Record<string, (jail: Jail, path: string) => Promise<unknown>> = {
  stat: (jail, path) => jail.stat(path),
  entries: (jail, path) => each(jail.entries(path)),
  tree: (jail, path) => each(jail.tree(path)),
  read: (jail, path) => read(jail, path),
  open: async (jail, path) => (await jail.open(path, { write: true, create: true, truncate: true })).close(),
  replace: (jail, path) => write(jail, path, 'x'),
  mkdir: (jail, path) => jail.mkdir(path),
  'rename from': (jail, path) => jail.rename(path, 'target'),
  'rename to': (jail, path) => jail.rename('there', path, { replace: true }),
  'copy from': (jail, path) => jail.copy(path, 'target'),
  'copy to': (jail, path) => jail.copy('there', path),
  remove: (jail, path) => jail.remove(path),
  rmdir: (jail, path) => jail.rmdir(path),
  setAttributes: (jail, path) => jail.setAttributes(path, { mode: 0o777, modifiedAt: 0 }),
  merge: async (jail, path) => {
    await using stage = await jail.stage();
    await (await stage.create('x')).close();
    await stage.mergeInto(path);
  },
};

/** Checks that the work fails with one of the reasons. `about` labels the check. */
export async function refused(t: ExecutionContext, work: () => Promise<unknown>, reasons: string[], about: string) {
  const error = await t.throwsAsync<StatusError>(work, { instanceOf: StatusError }, about);
  t.true(reasons.includes(error.reason), `${about}: ${String(error)}`);
}

export async function refusedEverywhere(t: ExecutionContext, paths: string[], reasons: string[]): Promise<void> {
  const { jail, put, outside } = await cage(t);
  put('there', 'x');
  for (const [name, work] of Object.entries(EVERY))
    for (const path of paths) await refused(t, () => work(jail, path), reasons, `${name} ${path.slice(0, 40)}`);
  t.deepEqual(readdirSync(outside), ['secret']);
}
