import { readSync } from 'node:fs';
import * as z from 'zod';
import { openIfThere } from '../jail/if-there.ts';
import type { Jail } from '../jail/jail.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB, MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';

/** A manifest may list all files of an installation. */
const MAX_BYTES = 16 * MIB;
/** Longest file parsed on the main thread. Parsing takes a millisecond or two, regardless of the content. */
const SHORT_BYTES = 32 * KIB;
/** Limits of a worker, for the longest files that installers write. */
const LIMITS = { cpuMs: 10_000, memoryMb: 256 };
/** The worker's first descriptor. */
const FILE = 4;

const word = (most: number) => z.string().max(most);
const orNone = word(128).catch('');

/** The fields used of each kind of file. */
const SHAPES = {
  /** Fields of all installers' manifests; each writes some of them. */
  build: z.object({
    project: word(64).optional(),
    minecraftVersion: word(64).optional(),
    build: z.union([word(64), z.int().transform(String)]).optional(),
    loaderVersion: word(64).optional(),
    forgeVersion: word(64).optional(),
    origin: z.object({ game: word(64).optional(), loader: word(64).optional() }).optional(),
  }),
  /** The image installer's record of a CurseForge pack. */
  curseforge: z.object({
    slug: orNone,
    fileId: z.int().min(1).catch(0),
    minecraftVersion: orNone,
    modLoaderId: orNone,
  }),
  /** The FTB installer's record of a pack. */
  ftb: z.object({
    targets: z
      .array(z.object({ name: orNone, version: orNone }))
      .max(100)
      .catch([]),
  }),
};

type Kind = keyof typeof SHAPES;
type Said<Of extends Kind> = z.output<(typeof SHAPES)[Of]>;

/** The worker pool for long files, and the account charged for it. */
export interface InstallerReading {
  /** Absent: the caller's own thread, limited by the file's size alone. */
  workers?: Pick<WorkerPool, 'run'> | undefined;
  tenant: string;
}

/**
 * Returns the content of an installer's JSON file; undefined if it is missing, not a plain file, invalid or too long. A
 * game can write there too, so long files are parsed in a worker. Rejects if the pool is full.
 */
export async function saidByInstaller<Of extends Kind>(
  jail: Jail,
  path: string,
  kind: Of,
  { workers, tenant }: InstallerReading,
): Promise<Said<Of> | undefined> {
  await using file = await openIfThere(() => jail.open(path));
  if (file === undefined) return undefined;
  const { sizeBytes } = await file.stat();
  if (sizeBytes > MAX_BYTES) return undefined;
  if (sizeBytes <= SHORT_BYTES || workers === undefined || file.descriptor === undefined)
    return parse(kind, await file.read(0, sizeBytes));
  try {
    const input = { kind, sizeBytes };
    return (await workers.run(installerFile, input, { tenant, files: [file.descriptor], ...LIMITS })) as
      | Said<Of>
      | undefined;
  } catch (error) {
    // Installers write no files of this size. A file written by a game is ignored.
    if (error instanceof StatusError && error.reason === 'WORK_TOO_LARGE') return undefined;
    throw error;
  }
}

/** The worker's part: parses the file passed as its first descriptor. */
export const installerFile = job(
  import.meta.url,
  'installerFile',
  ({ kind, sizeBytes }: { kind: Kind; sizeBytes: number }) => {
    const bytes = Buffer.alloc(sizeBytes);
    return parse(kind, bytes.subarray(0, readSync(FILE, bytes, 0, sizeBytes, 0)));
  },
);

function parse<Of extends Kind>(kind: Of, bytes: Buffer): Said<Of> | undefined {
  try {
    return SHAPES[kind].parse(JSON.parse(bytes.toString())) as Said<Of>;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}
