import { type ConfigOptions, type Setting, settings, textsOf } from './config.ts';

/** The first setting of each group in the help, with the group's title. */
const HEADINGS: Partial<Record<keyof typeof settings, string>> = {
  dataDir: 'Data and HTTP',
  proxy: 'Players',
  sftpHost: 'SFTP',
  databaseUrl: 'Database',
  engine: 'Games',
  mysqlAdminUrl: "Servers' own databases",
  checkout: 'Money',
  idleTimeoutMinutes: 'Limits',
  trustedProxies: 'People',
  backupQuotaMb: 'Backups',
  smtpUrl: 'Mail',
  modrinthUrl: 'External services',
  logLevel: 'Log',
};

/** Returns all settings with their defaults, one or two lines each, for `--help`. */
export function helpText(): string {
  return grouped(({ name, kind, fallback, help }) => {
    const about = kind.description === undefined ? '' : ` (${kind.description})`;
    return `  ${name}${fallback && `=${fallback}`}\n      ${help}${about}\n`;
  });
}

/** Returns the effective settings in text form, for `--settings`. Secrets are masked. */
export function settingsText(env?: NodeJS.ProcessEnv, options?: ConfigOptions): string {
  const texts = textsOf(env, options);
  return grouped(({ name, fallback, secret: isSecret }) => {
    const given = texts[name]?.trim() ?? '';
    const shown = isSecret && given !== '' ? '***' : given || fallback;
    return `  ${name}=${shown}${given === '' ? '' : '   (set)'}\n`;
  });
}

/** Returns all settings in the help's order, by group. */
export function settingGroups(): { heading: string; settings: Setting<unknown>[] }[] {
  const groups: { heading: string; settings: Setting<unknown>[] }[] = [];
  for (const [key, each] of Object.entries<Setting<unknown>>(settings)) {
    const heading = HEADINGS[key as keyof typeof settings];
    if (heading !== undefined) groups.push({ heading, settings: [] });
    groups.at(-1)?.settings.push(each);
  }
  return groups;
}

function grouped(line: (each: Setting<unknown>) => string): string {
  return settingGroups()
    .map((group) => `\n${group.heading}\n${group.settings.map(line).join('')}`)
    .join('');
}
