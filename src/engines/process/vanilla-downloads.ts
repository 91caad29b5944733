import { join } from 'node:path';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import type { RegistryFile } from '../../kernel/registry/http.ts';
import { StatusError } from '../../kernel/status.ts';
import { coreFailure, coreUnavailable, hasCore, saveCore } from './core-file.ts';
import { type MojangVersionsOptions, openMojangVersions } from './mojang-versions.ts';

const TRIES = 3;

/**
 * Downloads Mojang's own server as `vanilla-<version>.jar` and verifies its published checksum. All servers that need
 * it at the same time share one download. Ignores other cores. Rejects with EngineError `core_unavailable` if there is
 * no such server, and `download_failed` if it is temporarily unavailable.
 */
export function createVanillaDownloads(options: MojangVersionsOptions) {
  const { http, details } = openMojangVersions(options);
  const withLock = createKeyedMutex();

  async function find(version: string, signal: AbortSignal): Promise<RegistryFile> {
    const found = await details(version, signal);
    if (found === undefined) throw coreUnavailable(`There is no Minecraft ${version}.`);
    const { server } = found.downloads;
    if (server === undefined) throw coreUnavailable(`Mojang offers no server for Minecraft ${version}.`);
    const { url, size: sizeBytes, sha1 } = server;
    return { name: `vanilla-${version}.jar`, urls: [url], sizeBytes, sha1, sha512: '' };
  }

  return async function fetchCore(coresDir: string, core: string, version: string, signal: AbortSignal): Promise<void> {
    if (core !== 'vanilla') return;
    await withLock(version, async () => {
      const path = join(coresDir, `vanilla-${version}.jar`);
      if (await hasCore(path)) return;
      try {
        const file = await find(version, signal);
        for (let tries = 1; ; tries++) {
          try {
            return await saveCore(path, http.download(file, signal));
          } catch (error) {
            signal.throwIfAborted();
            if (tries === TRIES || !(error instanceof StatusError) || error.code !== 'UNAVAILABLE') throw error;
          }
        }
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof StatusError ? coreFailure(error) : error;
      }
    });
  };
}
