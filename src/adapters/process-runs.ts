import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { link, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Exit, Game, GameSpec, PublishedPort } from '../ports.ts';
import { readIfThere, removeIfThere, writeAtomic } from './atomic-file.ts';
import type { Place } from './process-command.ts';
import { checkedServerId } from './server-id.ts';

/**
 * One run of one server's program. Written before the program is started, with `pid` null, so that a crash in between
 * leaves a trail: the process, if there is one, carries `token` in its environment.
 */
export interface Run {
  serverId: string;
  token: string;
  installer: boolean;
  pid: number | null;
  /** Tells the process from a later one of the same pid. */
  start: string | null;
  gamePort: number;
  rconPort: number;
  /** 0: of a run that an earlier version started. */
  managementPort: number;
  ramMb: number;
  /** Absent in run files of earlier versions. */
  ports?: readonly PublishedPort[];
  /** When the intent was written; epoch ms. */
  intendedAt: number;
  startedAt: number | null;
  exit: Exit | null;
}

/** A run that is about to be started. */
export function newRun(spec: GameSpec, installer: boolean, place: Place, intendedAt: number): Run {
  const { serverId, ramMb } = spec;
  const ports = installer ? [] : spec.ports;
  const intent = { pid: null, start: null, intendedAt, startedAt: null, exit: null };
  return { serverId, token: randomUUID(), installer, ...place, ramMb, ports, ...intent };
}

/** What a run shows of its server. */
export function gameOf(run: Run): Game {
  const up = run.exit === null;
  const listens = up && !run.installer;
  return {
    serverId: run.serverId,
    up,
    installer: run.installer,
    game: listens ? { host: '127.0.0.1', port: run.gamePort } : null,
    rcon: listens ? { host: '127.0.0.1', port: run.rconPort } : null,
    management: listens && run.managementPort > 0 ? { host: '127.0.0.1', port: run.managementPort } : null,
    startedAt: run.startedAt,
    exit: run.exit,
  };
}

/** Run files of a directory: `<server id>.json`, one a server. */
export interface Runs {
  read(serverId: string): Promise<Run | undefined>;
  all(): Promise<Run[]>;
  /** Writes the first version; false where the server has a run file already. */
  claim(run: Run): Promise<boolean>;
  /** Writes a later version; nothing where the file has gone or belongs to another run. */
  update(run: Run): Promise<void>;
  remove(serverId: string): Promise<void>;
}

/** The run files in `dir`, which is made when first needed. */
export function runFiles(dir: string): Runs {
  const fileOf = (serverId: string) => join(dir, `${checkedServerId(serverId)}.json`);

  async function read(serverId: string): Promise<Run | undefined> {
    const text = await readIfThere(fileOf(serverId));
    return text === undefined ? undefined : { managementPort: 0, ...(JSON.parse(text) as Omit<Run, 'managementPort'>) };
  }

  /** Writes a run beside its place, and lets `place` put it there. */
  async function drafted(run: Run, place: (draft: string) => void | Promise<void>): Promise<void> {
    const draft = join(dir, `.${run.serverId}.${randomBytes(6).toString('hex')}`);
    try {
      await writeAtomic(draft, JSON.stringify(run));
      await place(draft);
    } finally {
      await removeIfThere(draft);
    }
  }

  return {
    read,
    async all() {
      const names = await readdir(dir).catch(() => []);
      const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
      const runs = await Promise.all(ids.map(read));
      return runs.filter((run) => run !== undefined);
    },
    async claim(run) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      try {
        // Unlike rename, link refuses to replace what is there.
        await drafted(run, (draft) => link(draft, fileOf(run.serverId)));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      }
    },
    async update(run) {
      const file = fileOf(run.serverId);
      if ((await read(run.serverId))?.token !== run.token) return;
      await drafted(run, (draft) => {
        // Once more and in one turn: a disk may take long to write a draft, and what is removed meanwhile must not come back.
        const isThere = existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as Run).token === run.token;
        if (isThere) renameSync(draft, file);
      });
    },
    remove: (serverId) => removeIfThere(fileOf(serverId)),
  };
}
