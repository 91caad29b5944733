import { EngineError } from '../../engines/engine.ts';
import type { ChangeLock } from '../../jail/change-lock.ts';
import { dataRoot } from '../../jail/data-root.ts';
import type { Jail } from '../../jail/jail.ts';
import { createFolder } from '../../jail/server-folder.ts';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { decodeText } from '../../kernel/decode-text.ts';
import { StatusError } from '../../kernel/status.ts';
import { KIB } from '../../kernel/units.ts';
import { type PropertiesRow, keepProperty, nextProperties, readProperties } from '../properties/properties.ts';
import { formatList, parseList, unreadable } from './changes.ts';
import { MAX_LIST_BYTES, MAX_LIST_ENTRIES } from './files.ts';
import { areAccountsForwarded } from './forwarding.ts';

/** Bytes of a configuration file that are read. Real ones have some 10 KiB. */
const MAX_CONFIG_BYTES = 64 * KIB;

/** Access to servers' files through the jail and within the quota. Rejects with StatusError. */
export interface ServerFiles {
  /** Returns the first bytes of a file, and whether there are more. */
  read(serverId: string, path: string, maxBytes: number): Promise<{ content: Buffer; truncated: boolean }>;
  change<T>(serverId: string, work: (jail: Jail) => Promise<T>): Promise<T>;
}

/**
 * The files of a game's player lists, and related properties. Rejects with FAILED_PRECONDITION LIST_UNREADABLE for an
 * invalid file, which stays as it is.
 */
export interface PlayerListFiles {
  /** Returns the list; empty if the file is missing. */
  read(serverId: string, file: string): Promise<unknown[]>;
  /** Replaces a list. Only for a game that is not running, because a running one would overwrite it. */
  write(serverId: string, file: string, list: readonly unknown[]): Promise<void>;
  /**
   * Returns the properties of a running game; with the row of a server that is not running, those of its next start.
   */
  properties(serverId: string, row?: PropertiesRow): Promise<ReadonlyMap<string, string>>;
  /** Like `areAccountsForwarded`. */
  accountsForwarded(serverId: string): Promise<boolean>;
  /** Like `keepProperty` of `properties.ts`. */
  keepProperty(serverId: string, property: { name: string; value?: string }): Promise<void>;
}

/** `lock` excludes concurrent changes and restores. `owner`: the game's user, if this process is root. */
export function createPlayerListFiles(
  files: ServerFiles,
  dataDir: string,
  lock: ChangeLock,
  owner?: FileOwner,
): PlayerListFiles {
  return {
    async read(serverId, file) {
      try {
        const { content, truncated } = await files.read(serverId, file, MAX_LIST_BYTES);
        const list = truncated ? undefined : parseList(file, decodeText(content));
        if (list === undefined || list.length > MAX_LIST_ENTRIES)
          throw unreadable(file, `${file} is too large for a list of players. Shorten or delete it.`);
        return list;
      } catch (error) {
        if (error instanceof StatusError && error.reason === 'PATH_NOT_FOUND') return [];
        throw error;
      }
    },

    async write(serverId, file, list) {
      const content = Buffer.from(formatList(list));
      if (content.length > MAX_LIST_BYTES || list.length > MAX_LIST_ENTRIES) throw listFull(file);
      await files.change(serverId, async (jail) => {
        await using replacement = await jail.replace(file);
        await replacement.write(content);
        await replacement.commit();
      });
    },

    async properties(serverId, row) {
      const root = dataRoot(dataDir, serverId);
      return await readable(() => (row ? nextProperties(root, row) : readProperties(root)));
    },

    accountsForwarded: (serverId) =>
      areAccountsForwarded(async (path) => {
        const { content } = await files.read(serverId, path, MAX_CONFIG_BYTES).catch(noContent);
        return decodeText(content);
      }),

    async keepProperty(serverId, property) {
      const root = dataRoot(dataDir, serverId);
      await lock.change(serverId, async () => {
        // A server that never started has no folder yet.
        await createFolder(root, owner);
        await readable(() => keepProperty(root, property, owner));
      });
    },
  };
}

function noContent(error: unknown): { content: Buffer } {
  if (!(error instanceof StatusError)) throw error;
  return { content: Buffer.alloc(0) };
}

async function readable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw unreadable('server.properties', `${error.message} ${error.suggestion}`, error);
  }
}

function listFull(file: string): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', 'LIST_FULL', `${file} is full. Remove players first.`, {
    metadata: { file },
  });
}
