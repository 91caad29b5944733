/** The section of operations by path. The first match counts. */
const SECTIONS: readonly (readonly [RegExp, string])[] = [
  [/^\/v1\/(?:whoami|me|accounts)\b/, 'Account and wallet'],
  [/^\/v1\/(?:capacity|regions|minecraft)\b/, 'Platform'],
  [/^\/v1\/templates\b/, 'Templates'],
  [/^\/v1\/(?:servers\/\{id\}\/)?mods\b/, 'Mods'],
  [
    /^\/v1\/servers\/\{id\}(?::command$|\/(?:logs|metrics|audit|events|diagnostics|machine|usage)\b)/,
    'Console, logs and insight',
  ],
  [/^\/v1\/servers\/\{id\}\/database\b/, 'Database'],
  [/^\/v1\/servers\/\{id\}\/sftp\b/, 'SFTP'],
  [/^\/v1\/servers\/\{id\}\/backups\b/, 'Backups'],
  [/^\/v1\/servers\/\{id\}\/files?\b/, 'Files'],
  [/^\/v1\/servers\/\{id\}\/schedules\b/, 'Schedules'],
  [/^\/v1\/servers\/\{id\}\/worlds\b/, 'Worlds'],
  [/^\/v1\/servers\/\{id\}\/players\b/, 'Players'],
  [/^\/v1\/servers\/\{id\}\/members\b/, 'Members'],
  [/^\/v1\/servers\b/, 'Servers'],
];

/**
 * Returns the reference's heading for an operation of the control API. All of them share one tag, so readers need the
 * headings. Throws if no heading matches, because the operation could not be found.
 */
export function sectionOf(path: string): string {
  const found = SECTIONS.find(([pattern]) => pattern.test(path));
  if (!found) throw new Error(`${path} belongs to no section`);
  return found[1];
}
