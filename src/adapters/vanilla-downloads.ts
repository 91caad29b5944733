import { join } from 'node:path';
import { z } from 'zod';
import type { Clock, ModFile } from '../ports.ts';
import { StatusError } from '../status.ts';
import { createTurns } from '../turns.ts';
import { coreFailure, coreUnavailable, hasCore, saveCore } from './core-file.ts';
import { createRegistryHttp } from './registry-http.ts';

export interface VanillaDownloadsOptions {
  /** Mojang's version manifest v2 or a mirror of it. */
  manifestUrl: string;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

const HOSTS = ['piston-meta.mojang.com', 'piston-data.mojang.com', 'launcher.mojang.com', 'launchermeta.mojang.com'];
const TRIES = 3;

/** The parts that are read (https://minecraft.wiki/w/Version_manifest.json, https://minecraft.wiki/w/Client.json). */
const Manifest = z.object({ versions: z.array(z.object({ id: z.string().max(64), url: z.string().max(2_048) })) });
const Version = z.object({
  downloads: z.object({
    server: z
      .object({ sha1: z.string().regex(/^[0-9a-f]{40}$/), size: z.int().min(1), url: z.string().max(2_048) })
      .optional(),
  }),
});

/**
 * Fetches Mojang's own server as `vanilla-<version>.jar`, checked against its published sum, for as many servers as may want
 * it at once; leaves other cores alone. EngineError `core_unavailable` where there is no such server, `download_failed` where it
 * cannot be had now.
 */
export function createVanillaDownloads({ manifestUrl, clock, fetch }: VanillaDownloadsOptions) {
  const { origin } = new URL(manifestUrl);
  const http = createRegistryHttp({
    name: "Mojang's list of versions",
    baseUrl: origin,
    clock,
    fileHosts: HOSTS,
    headers: { 'user-agent': 'dormouse (Minecraft server hosting)' },
    ...(fetch && { fetch }),
  });
  const alone = createTurns();

  async function find(version: string, signal: AbortSignal): Promise<ModFile> {
    const manifest = await http.json(manifestUrl, Manifest, signal);
    const listed = manifest?.versions.find(({ id }) => id === version);
    if (listed === undefined) throw coreUnavailable(`There is no Minecraft ${version}.`);
    const server = (await http.json(listed.url, Version, signal))?.downloads.server;
    if (server === undefined) throw coreUnavailable(`Mojang offers no server for Minecraft ${version}.`);
    const { url, size: sizeBytes, sha1 } = server;
    return { name: `vanilla-${version}.jar`, urls: [url], sizeBytes, sha1, sha512: '' };
  }

  return async function fetchCore(coresDir: string, core: string, version: string, signal: AbortSignal): Promise<void> {
    if (core !== 'vanilla') return;
    await alone(version, async () => {
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
