import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import { createRegistryHttp } from '../../kernel/registry/http.ts';
import { StatusError } from '../../kernel/status.ts';
import { MIB } from '../../kernel/units.ts';
import { coreFailure, coreName, coreUnavailable, hasCore, saveCore } from './core-file.ts';

/** Downloads a core's jar to `coresDir`. Ignores cores that it does not support. */
type FetchCore = (
  coresDir: string,
  core: string,
  version: string,
  signal: AbortSignal,
  loader?: string,
) => Promise<void>;

export interface FabricDownloadsOptions {
  /** Fabric's meta API or a mirror of it. */
  metaUrl: string;
  /** Downloads Mojang's own server, the base of Fabric's. */
  fetchVanilla: FetchCore;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

/** Limit of a launcher, which usually has about 200 KB. */
const MAX_LAUNCHER_BYTES = 16 * MIB;
/** The first bytes of a zip archive, and thus of a jar. */
const ZIP = Buffer.from('PK\u0003\u0004');

const Version = z.object({ version: z.string().regex(/^[\w.+-]{1,64}$/), stable: z.boolean() });
/** https://github.com/FabricMC/fabric-meta#v2, newest first. */
const Loaders = z.array(z.object({ loader: Version }));
const Installers = z.array(Version);

/**
 * Downloads Fabric's launcher as `fabric-<version>.jar` with the newest stable loader, or as
 * `fabric-<version>-<loader>.jar` with the named loader, and Mojang's server beside it. Fabric creates launchers on
 * request and publishes no checksums, so only the address vouches for one. Mojang's server is verified by its checksum.
 * Rejects like `createVanillaDownloads`.
 */
export function createFabricDownloads({ metaUrl, fetchVanilla, clock, fetch }: FabricDownloadsOptions): FetchCore {
  const http = createRegistryHttp({
    name: "Fabric's list of versions",
    baseUrl: metaUrl,
    clock,
    fileHosts: [],
    headers: { 'user-agent': 'dormouse (Minecraft server hosting)' },
    goneReason: 'CORE_NOT_FOUND',
    ...(fetch && { fetch }),
  });
  const withLock = createKeyedMutex();

  async function newestLoader(game: string, version: string, signal: AbortSignal): Promise<string> {
    const loaders = await http.json(`/v2/versions/loader/${game}`, Loaders, signal);
    const loader = newest((loaders ?? []).map((each) => each.loader));
    if (loader === undefined) throw coreUnavailable(`There is no Fabric for Minecraft ${version}.`);
    return loader.version;
  }

  async function launcher(version: string, named: string | undefined, signal: AbortSignal): Promise<Buffer> {
    const game = encodeURIComponent(version);
    const loader = named === undefined ? await newestLoader(game, version, signal) : encodeURIComponent(named);
    const installer = newest((await http.json('/v2/versions/installer', Installers, signal)) ?? []);
    if (installer === undefined) throw coreUnavailable('Fabric offers no launcher.');
    const path = `/v2/versions/loader/${game}/${loader}/${installer.version}/server/jar`;
    const jar = await http.bytes(path, MAX_LAUNCHER_BYTES, signal);
    if (jar === undefined) throw coreUnavailable(`There is no Fabric ${loader} for Minecraft ${version}.`);
    if (!jar.subarray(0, ZIP.length).equals(ZIP))
      throw coreUnavailable('The launcher that Fabric offers is not a jar.');
    return jar;
  }

  return async function fetchCore(coresDir, core, version, signal, loader) {
    if (core !== 'fabric') return;
    await fetchVanilla(coresDir, 'vanilla', version, signal);
    const name = coreName('fabric', version, loader);
    await withLock(name, async () => {
      const path = join(coresDir, name);
      if (await hasCore(path)) return;
      try {
        await saveCore(path, [await launcher(version, loader, signal)]);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof StatusError ? coreFailure(error) : error;
      }
    });
  };
}

function newest(versions: readonly z.output<typeof Version>[]): z.output<typeof Version> | undefined {
  return versions.find(({ stable }) => stable) ?? versions[0];
}
