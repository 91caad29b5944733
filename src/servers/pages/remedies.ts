import type { ReplyOf } from '../../http/calls.ts';
import { isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

export type Incident = ReplyOf<'ListDiagnostics'>['entries'][number];

/** A server's page that fixes a failure, and the text of its link. */
type Remedy = readonly [tab: string, label: string];

const MORE_RAM: Remedy = ['settings', 'Give it more RAM'];
const LESS_RAM: Remedy = ['settings', 'Give it less RAM'];
const VERSION: Remedy = ['settings/version', 'Change its version'];
const MODS: Remedy = ['mods', 'Check its mods'];
const BACKUP: Remedy = ['backups', 'Restore a backup'];
const FILES: Remedy = ['files', 'Check its files'];
const LOG: Remedy = ['console', 'Read its log'];

/** The page that fixes a failure, by code. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  out_of_memory: MORE_RAM,
  no_room_found: LESS_RAM,
  wrong_java_version: VERSION,
  wrong_minecraft_version: VERSION,
  core_unavailable: ['files', 'Upload server.jar'],
  missing_dependency: MODS,
  plugin_missing_dependency: MODS,
  incompatible_mods: MODS,
  client_only_mod: MODS,
  mod_crashed: MODS,
  watchdog: MODS,
  java_crashed: MODS,
  modpack_invalid: ['mods', 'Choose another pack'],
  world_corrupt: BACKUP,
  world_newer_version: BACKUP,
  world_migration: FILES,
  broken_datapack: FILES,
  bad_config: FILES,
  broken_jar: FILES,
  permission_denied: FILES,
  eula_not_accepted: FILES,
  wrong_port: FILES,
  missing_jar: ['files', 'Upload the missing file'],
  modpack_manual_download: ['files', 'Upload missing files'],
  disk_full: ['files', 'Free some space'],
  port_in_use: ['ports', 'Check its ports'],
  hung: LOG,
  stop_forced: LOG,
  unknown: LOG,
  crash_loop: LOG,
  start_timeout: LOG,
  install_timeout: MODS,
};

/** Failures fixed by a retry, by time, or by the operator alone. */
export const NOTHING_TO_MEND: ReadonlySet<string> = new Set([
  'cancelled',
  'download_failed',
  'image_pull_failed',
  'engine_unavailable',
  'auth_servers_down',
  'world_locked',
  'killed_by_stop',
  'read_only_disk',
  'no_room',
  'node_lost',
  'suspended',
]);

/** Codes that only name the outcome. The incident of that time has the reason. */
const OUTCOMES: ReadonlySet<string> = new Set(['crash_loop', 'start_timeout', 'install_timeout']);

/** Returns the page that fixes a failure; undefined without one. `latest`: the stored last failure. */
export function remedyOf(code: string, latest?: Pick<Incident, 'code' | 'insights'>): Remedy | undefined {
  const causes = OUTCOMES.has(code) && latest ? [latest.code, ...latest.insights.map((each) => each.code)] : [];
  const cause = causes.find((each) => !OUTCOMES.has(each) && each !== 'unknown' && each in REMEDIES);
  return REMEDIES[cause ?? code];
}

/** Returns the link to that page for readers who can use it. */
export function remedyLink(
  { server, role }: Pick<ServerRequest, 'server' | 'role'>,
  remedy: Remedy | undefined,
  variant?: 'button second',
): Html | undefined {
  if (remedy === undefined || !isAtLeast(role, 'member')) return undefined;
  const [tab, label] = remedy;
  return html`<a ${variant && html`class="${variant}"`} href="/servers/${server.id}/${tab}">${label}</a>`;
}
