import { type Api, done } from './api.ts';
import { DORMOUSE } from './called.ts';
import { wrongUsage } from './errors.ts';
import { VERSIONS, read } from './shapes.ts';
import { didYouMean, nearest } from './suggest.ts';
import { oneLine } from './text.ts';

/** The option to use a version that is not listed. */
export const UNLISTED = { type: 'boolean', help: 'Take a version that the service does not list.' } as const;

const LATEST = 'latest';

/**
 * Returns a core and version from the service's list. `latest`, or no version, means the core's newest one. Throws
 * wrong usage with suggestions for an unlisted version. An unknown core is left to the service to refuse.
 */
export async function softwareOf(
  api: Api,
  { type, version }: { type: string; version?: string | undefined },
  unlisted = false,
): Promise<{ type: string; version?: string }> {
  const reply = read(VERSIONS, await done(api.GET('/v1/minecraft/versions')), oneLine);
  const core = reply.cores.find((each) => each.type === type);
  const newest = core?.versions[0];
  if (version === undefined || version === LATEST) return { type, ...(newest !== undefined && { version: newest }) };
  if (core === undefined || unlisted || core.versions.includes(version)) return { type, version };
  const meant = didYouMean(nearest(version, core.versions));
  const see = `See them with: ${DORMOUSE} versions ${type}. With --unlisted it is taken all the same.`;
  throw wrongUsage([`No ${type} is listed for ${version}.`, meant, see].filter((part) => part !== '').join(' '));
}
