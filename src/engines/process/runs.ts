import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { link, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import type { Exit, Game, GameSpec, PublishedPort } from '../engine.ts';
import { checkedServerId, isServerId } from '../server-id.ts';
import type { GamePorts } from './command.ts';

/**
 * One run of a server's program. It is written before the program starts, with `pid` null, so that a crash in between
 * leaves a trail: the process, if there is one, has `token` in its environment.
 */
export interface Run {
  serverId: string;
  token: string;
  installer: boolean;
  pid: number | null;
  /** Distinguishes the process from a later one of the same pid. */
  start: string | null;
  gamePort: number;
  rconPort: number;
  managementPort: number;
  ramMb: number;
  /** The build of the core; absent if it is not known. */
  build?: string | undefined;
  ports: readonly PublishedPort[];
  /** When the intent was written; epoch ms. */
  intendedAt: number;
  startedAt: number | null;
  exit: Exit | null;
}

/** Returns a run that is about to be started. */
export function newRun(spec: GameSpec, installer: boolean, gamePorts: GamePorts, intendedAt: number): Run {
  const { serverId, ramMb, build } = spec;
  const ports = installer ? [] : spec.ports;
  const intent = { pid: null, start: null, intendedAt, startedAt: null, exit: null };
  return {
    serverId,
    token: randomUUID(),
    installer,
    ...gamePorts,
    ramMb,
    ...(build !== undefined && { build }),
    ports,
    ...intent,
  };
}

/** Returns the view of a server by its run. */
export function gameOf(run: Run): Game {
  const up = run.exit === null;
  const listens = up && !run.installer;
  return {
    serverId: run.serverId,
    up,
    installer: run.installer,
    game: listens ? { host: '127.0.0.1', port: run.gamePort } : null,
    rcon: listens ? { host: '127.0.0.1', port: run.rconPort } : null,
    management: listens ? { host: '127.0.0.1', port: run.managementPort } : null,
    startedAt: run.startedAt,
    exit: run.exit,
    ...(run.build !== undefined && { build: run.build }),
  };
}

/** The run files of a directory: `<server id>.json`, one per server. */
export interface Runs {
  /** Returns undefined if the run file is missing or unreadable. */
  read(serverId: string): Promise<Run | undefined>;
  all(): Promise<Run[]>;
  /** Writes the first version. Returns false if the server already has a run file. */
  claim(run: Run): Promise<boolean>;
  /** Writes a later version. Does nothing if the file is gone, belongs to another run, or already contains the end. */
  update(run: Run): Promise<void>;
  /** Does nothing if the file is gone or belongs to another run. */
  remove(run: Run): Promise<void>;
  /** Returns the path of the server's run file, whether or not it exists. */
  path(serverId: string): string;
  /** Returns whether an unreadable run file was set aside. Its processes may still run. */
  isDamaged(serverId: string): boolean;
  /** Removes the file that was set aside. */
  removeDamaged(serverId: string): Promise<void>;
  /** Removes drafts of dead processes. */
  sweep(): Promise<void>;
}

const Port = z.int().min(0).max(65_535);
const PublishedPorts = z.array(z.object({ hostPort: Port, containerPort: Port, proto: z.enum(['tcp', 'udp']) }));

/** The required fields of a run file. */
const RunFile = z.looseObject({
  serverId: z.string(),
  token: z.string().min(1),
  installer: z.boolean(),
  pid: z.int().min(2).nullable(),
  start: z.string().nullable(),
  gamePort: Port,
  rconPort: Port,
  managementPort: Port,
  ramMb: z.number(),
  build: z.string().max(64).optional(),
  ports: PublishedPorts,
  intendedAt: z.number(),
  startedAt: z.number().nullable(),
  exit: z.object({ code: z.int().nullable(), oomKilled: z.boolean(), at: z.number().nullable() }).nullable(),
});

/** Distinguishes this process's drafts from those of another one with the same pid, as in a restarted container. */
const PROCESS = randomBytes(6).toString('hex');
/** The name of a draft, whole or half written. */
const DRAFT = /^\.[a-z0-9-]+\.(\d+)\.([0-9a-f]{12})\.[0-9a-f]{12}(?:\.[0-9a-f]{12}\.tmp)?$/;

/** Errors of reading a file that is not ours or lies on a broken disk. */
const UNREADABLE = new Set(['EISDIR', 'EACCES', 'EPERM', 'EIO']);

/**
 * Returns the run files in `dir`, which is created when first needed. A file without a valid run is set aside as
 * `<server id>.damaged`, and `onDamaged` is called once. Other servers' files are not affected.
 */
export function runFiles(dir: string, onDamaged: (serverId: string) => void = () => {}): Runs {
  const path = (serverId: string) => join(dir, `${checkedServerId(serverId)}.json`);
  const damagedPath = (serverId: string) => join(dir, `${checkedServerId(serverId)}.damaged`);

  async function read(serverId: string): Promise<Run | undefined> {
    const bytes = await readIfThere(path(serverId)).catch((error: NodeJS.ErrnoException) => {
      if (UNREADABLE.has(error.code ?? '')) return null;
      throw error;
    });
    if (bytes === undefined) return undefined;
    const text = bytes && bytes.toString();
    const run = text === null ? undefined : runOf(text, serverId);
    if (run === undefined) keepDamaged(serverId, text);
    return run;
  }

  /**
   * Sets the file aside, unless another run has its file there by now. Synchronous, so that no other run can write in
   * between.
   */
  function keepDamaged(serverId: string, text: string | null): void {
    const file = path(serverId);
    if (!existsSync(file) || (text !== null && readFileSync(file, 'utf8') !== text)) return;
    rmSync(damagedPath(serverId), { recursive: true, force: true });
    renameSync(file, damagedPath(serverId));
    onDamaged(serverId);
  }

  function foundNow(serverId: string): Run | undefined {
    const file = path(serverId);
    return existsSync(file) ? runOf(readFileSync(file, 'utf8'), serverId) : undefined;
  }

  /** Writes a draft of a run, and calls `place` to move it into place. */
  async function drafted(run: Run, place: (draft: string) => void | Promise<void>): Promise<void> {
    const draft = join(dir, `.${run.serverId}.${process.pid}.${PROCESS}.${randomBytes(6).toString('hex')}`);
    try {
      await writeAtomic(draft, JSON.stringify(run));
      await place(draft);
    } finally {
      await rm(draft, { force: true });
    }
  }

  return {
    read,
    path,
    async all() {
      const names = await readdir(dir).catch(() => []);
      const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
      const runs = await Promise.all(ids.filter(isServerId).map(read));
      return runs.filter((run) => run !== undefined);
    },
    async claim(run) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      try {
        // Unlike rename, link refuses to replace an existing file.
        await drafted(run, (draft) => link(draft, path(run.serverId)));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      }
    },
    async update(run) {
      const { serverId, token } = run;
      const file = path(serverId);
      if ((await read(serverId))?.token !== token) return;
      await drafted(run, (draft) => {
        // Check again, synchronously: writing a draft may take long, and a file removed in the meantime must not
        // reappear.
        const found = foundNow(serverId);
        if (found?.token === token && found.exit === null) renameSync(draft, file);
      });
    },
    async remove({ serverId, token }) {
      // Synchronous, so that no other run can write in between.
      if (foundNow(serverId)?.token === token) rmSync(path(serverId), { force: true });
    },
    isDamaged: (serverId) => existsSync(damagedPath(serverId)),
    async sweep() {
      for (const name of await readdir(dir).catch(() => [])) {
        const draft = DRAFT.exec(name);
        const [, pid, token] = draft ?? [];
        const isDead = token !== PROCESS && !isAlive(Number(pid));
        if (draft && isDead) await rm(join(dir, name), { force: true });
      }
    },
    removeDamaged: (serverId) => rm(damagedPath(serverId), { recursive: true, force: true }),
  };
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the run in a run file's text; undefined if it contains none of this server. */
function runOf(text: string, serverId: string): Run | undefined {
  try {
    const run = RunFile.parse(JSON.parse(text));
    return run.serverId === serverId ? run : undefined;
  } catch {
    return undefined;
  }
}
