import { createReadStream } from 'node:fs';
import { chmod, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { arch, platform } from 'node:process';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import * as z from 'zod';
import { createMutex } from '../../../kernel/mutex.ts';
import { lazily } from '../../../kernel/once.ts';
import { StatusError } from '../../../kernel/status.ts';
import { GIB } from '../../../kernel/units.ts';
import { EngineError, type JavaRange, type Preparation } from '../../engine.ts';
import { hasCore } from '../core-file.ts';
import { sourceFailure } from './failure.ts';
import { fetchFile, makeReadable } from './fetch-file.ts';
import { GITHUB_FILES } from './jar-sources.ts';
import { createSharedProgress } from './shared-progress.ts';
import { type SourceOptions, field, sourceHttp } from './source.ts';

export interface JavaDownloadOptions extends SourceOptions {
  /** Adoptium's API or a mirror of it. */
  apiUrl: string;
  /** The directory of the Java homes. */
  dir: string;
}

/**
 * Makes a Java of this range available in the directory. Rejects with EngineError `core_unavailable`,
 * `wrong_java_version` or `download_failed`.
 */
export type FetchJava = (
  range: JavaRange,
  signal: AbortSignal,
  progress: (progress: Preparation) => void,
) => Promise<void>;

/** Versions with long-term support, which Adoptium offers as runtimes. */
const LONG_TERM = [8, 11, 17, 21, 25];
const MOST_BYTES = GIB;
const MOST_ENTRIES = 20_000;
const STAGING = '.unpack-';

/** Kinds of runtimes, best first. */
const IMAGES = ['jre', 'jdk'] as const;

/** https://api.adoptium.net/q/swagger-ui, assets/latest */
const Assets = z.array(
  z.object({
    release_name: z.string().regex(/^[0-9A-Za-z][\w.+-]{0,63}$/),
    binary: z.object({
      image_type: z.enum(IMAGES),
      package: z.object({ checksum: field.sha256, link: field.url, size: field.size }),
    }),
  }),
);
type Asset = z.output<typeof Assets>[number];

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = {
  x64: 'x64',
  arm64: 'aarch64',
  arm: 'arm',
  ppc64: 'ppc64le',
  riscv64: 'riscv64',
  s390x: 's390x',
};

/** Downloads Java runtimes from Adoptium, one per version for all servers. Works on Linux. */
export function createJavaDownloads({ apiUrl, dir, ...options }: JavaDownloadOptions): FetchJava {
  const http = sourceHttp('Adoptium, the source of Java,', apiUrl, options, ['github.com', ...GITHUB_FILES]);
  const withLock = createMutex();
  const shareProgress = createSharedProgress();

  async function newest(major: number, signal: AbortSignal): Promise<Asset> {
    const query = new URLSearchParams({ architecture: ARCHITECTURES[arch] ?? '', os: systemName(), vendor: 'eclipse' });
    for (const image of IMAGES) {
      query.set('image_type', image);
      const [found] = (await http.json(`/v3/assets/latest/${major}/hotspot?${query.toString()}`, Assets, signal)) ?? [];
      if (found) return found;
    }
    throw new EngineError('wrong_java_version', `Adoptium has no Java ${major} for this machine.`, {
      suggestion: `Ask the operator to install Java ${major} or to add its folder to JAVA_HOMES.`,
    });
  }

  return async function fetchJava({ least, most }, signal, progress) {
    const javaMajor = LONG_TERM.find((each) => each >= least && each <= most) ?? least;
    if (platform !== 'linux' || ARCHITECTURES[arch] === undefined) {
      throw new EngineError('core_unavailable', 'Java is downloaded only on Linux.', {
        suggestion: `Install Java ${javaMajor}, or add its folder to JAVA_HOMES.`,
      });
    }
    using shared = shareProgress('', progress);
    const shown = (percent: number) => shared.progress({ phase: 'downloading', javaMajor, percent });
    const work = async () => {
      try {
        const { release_name: release, binary } = await newest(javaMajor, signal);
        const home = join(dir, `${release}-${binary.image_type}`);
        if (await hasCore(join(home, 'bin/java'))) return;
        shown(0);
        const archive = `${home}.tar.gz`;
        const { checksum: hex, link: url, size: sizeBytes } = binary.package;
        const file = { name: `Java ${javaMajor}`, url, sizeBytes, checksum: { algorithm: 'sha256', hex } as const };
        await fetchFile(file, archive, { http, signal, progress: shown });
        for (const name of await readdir(dir)) {
          if (name.startsWith(STAGING)) await rm(join(dir, name), { recursive: true, force: true });
        }
        await unpack(archive, home, signal);
        await rm(archive, { force: true });
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof StatusError ? sourceFailure(error, `install Java ${javaMajor}`) : error;
      }
    };
    return await withLock(work, signal);
  };
}

/** Returns the system in Adoptium's words. Alpine and its kind have another C library. */
const systemName = lazily(() => {
  // Otherwise the report asks for the names of all connected addresses, while the process waits.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined ? 'alpine-linux' : 'linux';
});

/**
 * Unpacks the one folder of a verified archive as `home`, which appears complete. Creates only files and directories:
 * the links in Java's archives lead to licences.
 */
async function unpack(archive: string, home: string, signal: AbortSignal): Promise<void> {
  const staging = await mkdtemp(join(dirname(home), STAGING));
  try {
    await chmod(staging, 0o755);
    const reading = extract();
    const done = pipeline(createReadStream(archive), createGunzip(), reading, { signal });
    done.catch(() => {});
    let [bytes, entries] = [0, 0];
    for await (const entry of reading) {
      const { name, type, size, mode } = entry.header;
      bytes += size;
      entries += 1;
      if (bytes > MOST_BYTES || entries > MOST_ENTRIES) throw malformed();
      const path = placeIn(staging, name);
      if (path === undefined || type !== 'file') {
        if (path !== undefined && type === 'directory') await makeReadable(path);
        entry.resume();
        continue;
      }
      await makeReadable(dirname(path));
      await using file = await open(path, 'wx', (mode & 0o111) === 0 ? 0o644 : 0o755);
      await file.writeFile(entry as unknown as AsyncIterable<Uint8Array>);
    }
    await done;
    if (!(await hasCore(join(staging, 'bin/java')))) throw malformed();
    await rename(staging, home);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Returns the path of an archive's entry without the archive's own folder; undefined for that folder. */
function placeIn(staging: string, name: string): string | undefined {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) throw malformed();
  return parts.length < 2 ? undefined : join(staging, ...parts.slice(1));
}

function malformed(): EngineError {
  return new EngineError('download_failed', 'The downloaded Java cannot be unpacked.', {
    suggestion: 'Ask the operator to install Java, or to add its folder to JAVA_HOMES.',
  });
}
