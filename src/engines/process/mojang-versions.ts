import * as z from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { type RegistryHttp, createRegistryHttp } from '../../kernel/registry/http.ts';

export interface MojangVersionsOptions {
  /** Mojang's version manifest v2 or a mirror of it. */
  manifestUrl: string;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

/** Mojang's metadata of each version of the game. */
export interface MojangVersions {
  /** Fetches the files that the details name. */
  http: RegistryHttp;
  /**
   * Returns the details of a version; undefined if there is no such version. Rejects with StatusError if Mojang cannot
   * be reached.
   */
  details: (version: string, signal: AbortSignal) => Promise<VersionDetails | undefined>;
}

const HOSTS = ['piston-meta.mojang.com', 'piston-data.mojang.com', 'launcher.mojang.com', 'launchermeta.mojang.com'];

/** The parts in use (https://minecraft.wiki/w/Version_manifest.json, https://minecraft.wiki/w/Client.json). */
const Manifest = z.object({ versions: z.array(z.object({ id: z.string().max(64), url: z.string().max(2_048) })) });
const Details = z.object({
  downloads: z.object({
    server: z
      .object({ sha1: z.string().regex(/^[0-9a-f]{40}$/), size: z.int().min(1), url: z.string().max(2_048) })
      .optional(),
  }),
  javaVersion: z
    .object({ majorVersion: z.int().min(1).max(999) })
    .optional()
    .catch(undefined),
});

export type VersionDetails = z.output<typeof Details>;

export function openMojangVersions({ manifestUrl, clock, fetch }: MojangVersionsOptions): MojangVersions {
  const http = createRegistryHttp({
    name: "Mojang's list of versions",
    baseUrl: new URL(manifestUrl).origin,
    clock,
    fileHosts: HOSTS,
    headers: { 'user-agent': 'dormouse (Minecraft server hosting)' },
    goneReason: 'CORE_NOT_FOUND',
    ...(fetch && { fetch }),
  });
  return {
    http,
    async details(version, signal) {
      const manifest = await http.json(manifestUrl, Manifest, signal);
      const listed = manifest?.versions.find(({ id }) => id === version);
      return listed && (await http.json(listed.url, Details, signal));
    },
  };
}
