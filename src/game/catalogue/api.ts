import { CORES, CUSTOM, SANDBOX, coreOf, missingCore, softwareName } from '../cores.ts';
import * as z from 'zod';
import { sandboxVersions } from '../../engines/sandbox.ts';
import { reply } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { StatusError } from '../../kernel/status.ts';
import type { CoreRules } from '../core-rules.ts';
import type { Catalogue } from './catalogue.ts';

/** Whether this machine can get a core without an upload. */
export type CanGet = (core: string) => boolean;

const ListMinecraftVersionsResponse = z
  .object({
    versions: z.array(z.string()).default([]).describe('Newest first.'),
    latest: reply.text.describe('Latest release.'),
    cores: z
      .array(
        z.object({
          type: reply.text,
          versions: z.array(z.string()).default([]),
          unavailable: reply.text.describe(
            'Why the core cannot be downloaded here, and what to do instead. Empty if it can.',
          ),
        }),
      )
      .default([])
      .describe('The cores available for your servers, with the releases each supports.'),
  })
  .meta({ id: 'ListMinecraftVersionsResponse' });

export const ListMinecraftVersions = operation({
  id: 'ListMinecraftVersions',
  method: 'get',
  path: '/v1/minecraft/versions',
  scope: 'servers:read',
  auth: 'key',
  section: 'Platform',
  summary: 'List Minecraft versions',
  description:
    'Returns the releases of Minecraft (Java), newest first. `cores` lists the releases that each core supports.',
  reply: ListMinecraftVersionsResponse,
});

/** Returns why a core cannot be downloaded; '' for one that is uploaded anyway. */
function toUpload(type: string): string {
  if (type === CUSTOM) return '';
  return `${softwareName(type)} can’t be downloaded here. Create the server, then upload server.jar under Files.`;
}

async function mayRun(cores: CoreRules, wanted: { accountId: string; type: string }): Promise<boolean> {
  try {
    await cores.require(wanted);
    return true;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

/** Returns all cores for these releases, regardless of who can run them. */
export function coresFor(releases: readonly string[]): { type: string; versions: string[] }[] {
  return CORES.map((type) => ({ type, versions: versionsOf(type, releases) })).filter(
    ({ versions }) => versions.length > 0,
  );
}

function versionsOf(type: string, releases: readonly string[]): string[] {
  if (type === SANDBOX) return sandboxVersions();
  return (
    coreOf(type)?.proxyVersions?.slice() ?? releases.filter((version) => missingCore({ type, version }) === undefined)
  );
}

export const catalogueOperations = (catalogue: Catalogue, cores: CoreRules, canGet: CanGet): readonly Served[] => [
  serve(ListMinecraftVersions, async ({ principal: { accountId } }) => {
    const known = await catalogue.versions();
    const allowed = await Promise.all(CORES.map((type) => mayRun(cores, { accountId, type })));
    const may = new Set(CORES.filter((_, nth) => allowed[nth]));
    const offered = coresFor(known.versions).filter(({ type }) => may.has(type));
    return {
      ...known,
      cores: offered.map(({ type, versions }) => ({
        type,
        versions,
        unavailable: canGet(type) ? '' : toUpload(type),
      })),
    };
  }),
];
