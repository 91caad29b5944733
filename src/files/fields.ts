import * as z from 'zod';
import { reply } from '../http/fields.ts';
import type { Principal } from '../http/principal.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import type { Entry } from '../jail/jail.ts';
import { MAX_PATH_BYTES, ownPathProblem, pathProblem } from '../jail/path.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServeServer } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Store } from '../store/store.ts';
import type { Files } from './files.ts';

/** A path below a server's data root, as the jail expects it. '' is the root itself. */
export function filePath() {
  return pathWithout(pathProblem);
}

/** A path to create, move or remove: never the root. */
export function ownPath() {
  return pathWithout(ownPathProblem).meta({ minLength: 1 });
}

function pathWithout(problemOf: (path: string) => string | undefined) {
  return z
    .string()
    .max(MAX_PATH_BYTES, `must have at most ${MAX_PATH_BYTES} bytes`)
    .check((given) => {
      const problem = problemOf(given.value);
      if (problem !== undefined) given.issues.push({ code: 'custom', input: given.value, message: problem });
    });
}

/** A file or directory in a listing. */
export const FileEntry = z
  .object({
    name: reply.text,
    isDir: reply.flag,
    size: reply.int64.describe('In bytes. 0 if it is not a file, except for directories with `sizes`.'),
    modifiedAt: reply.timestamp.describe(
      'When the content of the file, or the list of entries in the directory, last changed.',
    ),
  })
  .meta({ id: 'FileEntry' });

export function entryView({ name, kind, sizeBytes, modifiedAt }: Entry): z.input<typeof FileEntry> {
  return { name, isDir: kind === 'directory', size: sizeBytes, modifiedAt };
}

/** Dependencies of the operations on files. */
export interface FileNeeds {
  clock: Clock;
  files: Files;
  serveServer: ServeServer;
  store: Store;
  transferSlots: StreamSlots;
}

interface ChangeCall {
  server: ServerNow;
  principal: Principal;
}

interface ChangeNeeds {
  store: Store;
  clock: Clock;
}

/** The audit entry of a change. `detail`: the paths. */
interface ChangeEntry {
  action: `file.${string}`;
  detail: string;
}

/**
 * Changes a server's files and records that in the audit log. Throws DATA_LOSS CHANGE_NOT_RECORDED if the change was
 * made but not recorded: do not repeat it.
 */
export async function changeFiles<T>(
  { server, principal }: ChangeCall,
  { store, clock }: ChangeNeeds,
  entry: ChangeEntry,
  work: () => Promise<T>,
): Promise<T> {
  const result = await work();
  try {
    await store.write(recordOnServer(principal, server.row, { ...entry, at: clock.now() }));
  } catch (cause) {
    throw notRecorded(server, cause);
  }
  return result;
}

function notRecorded({ row }: ServerNow, cause: unknown): StatusError {
  const sentence = 'The files were changed, but the audit entry could not be written. Do not repeat the request.';
  const metadata = { server: row.id, changed: 'true' };
  return new StatusError('DATA_LOSS', 'CHANGE_NOT_RECORDED', sentence, { metadata, cause });
}

/**
 * Changes a server's files in a long operation, like `changeFiles`. Uses one of the caller's transfer slots. Throws
 * RESOURCE_EXHAUSTED if none is free.
 */
export async function transferFiles<T>(
  call: ChangeCall,
  needs: ChangeNeeds & { transferSlots: StreamSlots },
  entry: ChangeEntry,
  work: () => Promise<T>,
): Promise<T> {
  return await changeFiles(call, needs, entry, async () => {
    const release = needs.transferSlots.take(call.principal, 'transfer');
    try {
      return await work();
    } finally {
      release();
    }
  });
}
