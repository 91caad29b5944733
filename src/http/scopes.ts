/** The permissions of credentials, each with the text shown when a user grants it. */
export const SCOPES = {
  'servers:read': 'See your servers, their logs, metrics and settings',
  'servers:write': 'Create, start, stop, change and delete servers',
  console: 'Run console commands and kick players',
  backups: 'Create, download, restore and delete backups',
  'files:read': "Read your servers' files",
  'files:write': "Change your servers' files and SFTP access",
  'billing:read': 'See your wallet and ledger, and open a checkout',
  'billing:write': 'Set your spend cap',
  members: 'Invite and remove the members of your servers',
  'account:read': "Read your account's audit log",
  operator: 'Run this installation',
  'servers:list': 'See who you are and list your servers',
} as const;

export type Scope = keyof typeof SCOPES;

/** All scopes an app token can have. */
export const APP_SCOPES: readonly Scope[] = ['servers:list'];

/** All scopes an API key can have. */
export const KEY_SCOPES: readonly Scope[] = (Object.keys(SCOPES) as Scope[]).filter(
  (scope) => !APP_SCOPES.includes(scope),
);

/** The scopes of a key from the command-line grant: everything for the user's own account. */
export const FULL_SCOPES: readonly Scope[] = KEY_SCOPES.filter((scope) => scope !== 'operator');

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text);
}

/** Returns the scopes that kinds of a thing require in addition, for `alsoScopes` of an operation. */
export function alsoScopesOf(scopes: Readonly<Partial<Record<string, Scope>>>): Partial<Record<Scope, string>> {
  return Object.fromEntries(Object.entries(scopes).map(([kind, scope]) => [scope, `kind \`${kind}\``]));
}
