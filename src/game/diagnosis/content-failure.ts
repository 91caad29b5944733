import type { Failure } from '../../../machines/server-types.ts';
import type { StatusError } from '../../kernel/status.ts';

/** Codes and titles as in the diagnosis of an image's log (`diagnosis.ts`). */
const KNOWN: Record<string, readonly [code: string, title: string, suggestion: string]> = {
  REGISTRY_UNAVAILABLE: ['download_failed', 'Registry unreachable', 'Try again in a few minutes.'],
  DOWNLOAD_BROKEN: ['download_failed', 'Download failed', 'Try again in a few minutes.'],
  CHECKSUM_MISMATCH: [
    'download_failed',
    'Download damaged',
    'Try again. If that does not help, choose another version.',
  ],
  DOWNLOAD_REFUSED: ['download_failed', 'Download refused', 'Choose another version.'],
  MOD_NOT_FOUND: ['download_failed', 'No longer available', 'Its authors have removed it. Choose another one.'],
  MODPACK_NOT_FOUND: ['wrong_minecraft_version', 'No such version', 'Choose another version.'],
  MOD_WRONG_MINECRAFT_VERSION: ['wrong_minecraft_version', 'No such version', 'Choose another version.'],
  MOD_DISTRIBUTION_DISALLOWED: [
    'modpack_manual_download',
    'Mod must be downloaded by hand',
    'Download it in a browser, upload it to the mods folder, then try again.',
  ],
  MODPACK_INVALID: ['modpack_invalid', 'Not a usable mod pack', 'Choose another version or another pack.'],
  MODPACK_UNSUPPORTED: ['core_unavailable', 'Not available here', 'Choose another pack.'],
  EULA_NOT_ACCEPTED: ['eula_not_accepted', 'EULA not accepted', 'Accept it, then try again.'],
  DISK_QUOTA_EXCEEDED: ['disk_full', 'Disk quota reached', 'Free space, then try again.'],
  DISK_FULL: ['disk_full', 'Disk full', 'Free space, then try again.'],
  BAD_ARCHIVE: ['modpack_invalid', 'Not a usable mod pack', 'Choose another version or another pack.'],
  ARCHIVE_TOO_LARGE: ['modpack_invalid', 'Not a usable mod pack', 'Choose another version or another pack.'],
  UNKNOWN_ARCHIVE: ['modpack_invalid', 'Not a usable mod pack', 'Choose another version or another pack.'],
};

/** Converts an error of mods or a pack to the failure of an install or a start. */
export function contentFailure(error: StatusError): Failure {
  const [code, title, suggestion] = KNOWN[error.reason] ?? ['unknown', 'Not installed', 'Try again.'];
  return { code, summary: `${title}: ${error.message}`, suggestion, raw: `${error.reason}: ${error.message}` };
}
