import * as z from 'zod';
import type { Clock } from '../../../kernel/clock.ts';
import { type RegistryHttp, createRegistryHttp } from '../../../kernel/registry/http.ts';
import { KIB } from '../../../kernel/units.ts';
import type { Checksum, RemoteFile } from './fetch-file.ts';

/** A build of a core, and its file. */
export interface CoreBuild {
  /** `60`, `0.16.14`; '' if the version has only one. */
  build: string;
  /** The core's jar, or its installer. */
  file: RemoteFile;
}

/** A public source of one core. */
export interface CoreSource {
  http: RegistryHttp;
  /**
   * Returns a build of a version of the game; without `build` the newest, stable ones first. Undefined if the source
   * does not have it. Rejects with StatusError.
   */
  find(version: string, build: string | undefined, signal: AbortSignal): Promise<CoreBuild | undefined>;
  /** Absent: the file is the core itself. Otherwise it is an installer, which is run with these arguments. */
  installer?: (version: string, build: string, folder: string) => readonly string[];
}

/** Options of all sources. */
export interface SourceOptions {
  clock: Clock;
  /** Address of this installation. PaperMC refuses programs that name no contact. */
  contact: string;
  fetch?: typeof globalThis.fetch;
}

/** Creates the HTTP client of a source. `fileHosts`: further hosts that may serve its files. */
export function sourceHttp(
  name: string,
  baseUrl: string,
  { clock, contact, fetch }: SourceOptions,
  fileHosts: readonly string[] = [],
): RegistryHttp {
  return createRegistryHttp({
    name,
    baseUrl,
    clock,
    fileHosts,
    headers: { 'user-agent': `dormouse (Minecraft server hosting; ${contact})` },
    goneReason: 'CORE_NOT_FOUND',
    ...(fetch && { fetch }),
  });
}

/** Schemas of the fields in use. Texts reach paths and URLs, so they are limited to plain characters. */
export const field = {
  /** The name or number of a build. */
  build: z.string().regex(/^\d[0-9A-Za-z.+-]{0,63}$/),
  number: z.int().min(1).max(999_999_999),
  fileName: z.string().regex(/^[0-9A-Za-z][\w.+-]{0,127}$/),
  url: z.string().max(2_048),
  size: z.int().min(1),
  md5: z.string().regex(/^[0-9a-f]{32}$/),
  sha1: z.string().regex(/^[0-9a-f]{40}$/),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
};

/** Returns the checksum that a Maven repository publishes beside a file, best first; undefined for a missing file. */
export async function checksumBeside(
  http: RegistryHttp,
  url: string,
  signal: AbortSignal,
): Promise<Checksum | undefined> {
  for (const algorithm of ['sha256', 'sha1'] as const) {
    const text = await http.bytes(`${url}.${algorithm}`, KIB, signal);
    const { success, data } = field[algorithm].safeParse(text?.toString('latin1').trim().split(/\s/)[0]?.toLowerCase());
    if (success) return { algorithm, hex: data };
  }
  return undefined;
}
