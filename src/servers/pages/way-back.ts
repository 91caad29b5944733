import { softwareText } from '../../game/cores.ts';
import { isAtLeast } from '../../http/roles.ts';
import { StatusError } from '../../kernel/status.ts';
import { confirmed } from '../../web/form.ts';
import type { Html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import { inShort } from '../../web/panel/in-short.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { RestoreBackup } from '../../backups/api.ts';
import { UpdateServerVersion } from '../api/update-version.ts';
import { stopsText } from './parts.ts';

type Update = NonNullable<ServerRequest['server']['update']>;

/** Messages of the form `back`. */
export const WENT_BACK = {
  back: 'The server has its earlier software, files and mods again.',
  'back-version': 'The next start runs the earlier software again.',
  'going-back': 'Going back to the earlier software. This takes a while; you can leave this page.',
};

/** Returns a core with its version and, if known, its build. */
export function coreText({ build, ...software }: Update['from']): string {
  return build === '' ? softwareText(software) : `${softwareText(software)} build ${build}`;
}

/** The form that undoes an unconfirmed update; undefined without one, or if it cannot be undone. */
export function wayBack(request: ServerRequest): Html | undefined {
  const { update } = request.server;
  if (update === null || !isAtLeast(request.role, 'member') || !hasWayBack(update)) return undefined;
  const { from, to, backupId } = update;
  const name = from.type === to.type && from.version !== to.version ? from.version : coreText(from);
  const question =
    backupId === ''
      ? 'The next start runs the earlier software again. There is no backup from before the update, so files and mods stay as they are.'
      : `All files and mods return to their state before the update. Everything since then is discarded, but the current files are kept until the next successful start.${stopsText(request)}`;
  return confirmed(question, `Back to ${name}`, '', buttonForm(request, 'back', 'Yes, go back', { variant: 'danger' }));
}

/** Without a backup, only another version leads back: a build can be restored only with the files. */
function hasWayBack({ from, to, backupId, automatic }: Update): boolean {
  if (automatic) return false;
  return backupId !== '' || from.type !== to.type || from.version !== to.version;
}

/** Handles the form `back`. */
export async function goBack({ call, server: { id, update } }: ServerRequest): Promise<string> {
  if (update === null || !hasWayBack(update))
    throw new StatusError('FAILED_PRECONDITION', 'NO_UPDATE', 'There is no update to go back from.');
  const { backupId, from } = update;
  const { type, version } = from;
  if (backupId === '')
    return await inShort(call(UpdateServerVersion, { id }, { type, version }), 'back-version', 'going-back');
  return await inShort(call(RestoreBackup, { id, backupId }), 'back', 'going-back');
}
