import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import { MIB } from '../../kernel/units.ts';
import type { LogLine } from '../engine.ts';
import { checkedServerId } from '../server-id.ts';

/** Maximum number of lines stored from a server's earlier containers. */
export const ARCHIVED_LINES = 2_000;
const MAX_BYTES = 4 * MIB;

/** The output of removed containers of one server. */
export interface Archived {
  /**
   * The container that printed the last of the lines; '' if there are none. It still exists if its removal was
   * interrupted.
   */
  container: string;
  lines: LogLine[];
}

/** Stores the last lines of containers that are about to be removed, in one file per server. */
export interface LogArchive {
  read(serverId: string): Promise<Archived>;
  /** Adds lines that a container printed after the archived ones. */
  append(serverId: string, container: string, lines: LogLine[]): Promise<void>;
  remove(serverId: string): Promise<void>;
}

/**
 * Opens an archive in a directory, which is created when first needed. File format: the container's id, then
 * `<position> <text>` lines.
 */
export function logArchive(dir: string): LogArchive {
  const fileOf = (serverId: string) => join(dir, `${checkedServerId(serverId)}.log`);

  async function read(serverId: string): Promise<Archived> {
    const [container = '', ...lines] = (await readIfThere(fileOf(serverId)))?.toString().split('\n').slice(0, -1) ?? [];
    return { container, lines: lines.map(parsed) };
  }

  return {
    read,
    async append(serverId, container, lines) {
      const old = await read(serverId);
      const text = bounded([...old.lines, ...lines])
        .map(({ position, text }) => `${position} ${text.replaceAll('\n', ' ')}\n`)
        .join('');
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeAtomic(fileOf(serverId), `${container}\n${text}`);
    },
    remove: (serverId) => rm(fileOf(serverId), { force: true }),
  };
}

function parsed(line: string): LogLine {
  const space = line.indexOf(' ');
  return { position: line.slice(0, space), text: line.slice(space + 1) };
}

function bounded(lines: LogLine[]): LogLine[] {
  const kept = lines.slice(-ARCHIVED_LINES);
  let bytes = kept.reduce((sum, line) => sum + line.text.length, 0);
  const from = kept.findIndex((line) => {
    if (bytes <= MAX_BYTES) return true;
    bytes -= line.text.length;
    return false;
  });
  return from < 0 ? [] : kept.slice(from);
}
