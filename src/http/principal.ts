import type { Scope } from './scopes.ts';

/** The identity behind a credential. */
interface Access {
  userId: string;
  /** The account it acts for: that of its user. */
  accountId: string;
  scopes: ReadonlySet<Scope>;
  /** Whether it may operate this installation: its user is an operator, and a key has the scope, too. */
  operator: boolean;
  /** The only servers it can access; null for all servers of its user. */
  serverIds: ReadonlySet<string> | null;
}

/** A caller with an API key. */
export interface KeyPrincipal extends Access {
  kind: 'key';
  keyId: string;
}

/** A third-party app that a user has connected. */
export interface AppPrincipal extends Access {
  kind: 'app';
  tokenId: string;
  clientId: string;
}

/** A user signed in with a browser. */
export interface SessionPrincipal extends Access {
  kind: 'session';
  sessionId: string;
  email: string;
  emailVerified: boolean;
  /** Epoch ms at which the user last entered the password, here or at the sign-in provider. */
  provedAt: number;
  /** The name of the sign-in provider, and whether the user has a password, too. Absent without an account there. */
  confirmWith?: { provider: string; hasPassword: boolean } | undefined;
  /** An operator who has no second factor yet, although this installation requires one of operators. */
  needsSecondFactor: boolean;
}

/** The caller. */
export type Principal = KeyPrincipal | AppPrincipal | SessionPrincipal;

/** Reports whether a credential may be used on a server, whatever its user's role there. */
export function reachesServer({ serverIds }: Access, serverId: string): boolean {
  return serverIds?.has(serverId) ?? true;
}

/** Returns the id of the credential itself, for limits and logs. Not secret. */
export function credentialId(principal: Principal): string {
  switch (principal.kind) {
    case 'key':
      return principal.keyId;
    case 'app':
      return principal.tokenId;
    case 'session':
      return principal.sessionId;
    default:
      return principal satisfies never;
  }
}
