import type { Scope } from './scopes.ts';

/** The identity behind a credential. */
interface Standing {
  userId: string;
  /** The account it acts for: its user's own. */
  accountId: string;
  scopes: ReadonlySet<Scope>;
  /** May run this installation: its user is an operator, and a key has the scope as well. */
  operator: boolean;
  /** The only servers it reaches; null: all that its user does. */
  serverIds: ReadonlySet<string> | null;
}

/** Somebody who calls with an API key. */
export interface KeyPrincipal extends Standing {
  kind: 'key';
  keyId: string;
}

/** A third-party app that somebody has connected. */
export interface AppPrincipal extends Standing {
  kind: 'app';
  tokenId: string;
  clientId: string;
}

/** Somebody who is signed in with a browser. */
export interface SessionPrincipal extends Standing {
  kind: 'session';
  sessionId: string;
  email: string;
  emailVerified: boolean;
  /** When its user last gave the password. */
  provedAt: number;
  /** They run this installation once they have set up a second factor, which is asked of operators here. */
  needsSecondFactor: boolean;
}

/** The caller. */
export type Principal = KeyPrincipal | AppPrincipal | SessionPrincipal;

/** Whether a credential may be used on a server, whatever its user is there. */
export function reachesServer({ serverIds }: Pick<Standing, 'serverIds'>, serverId: string): boolean {
  return serverIds?.has(serverId) ?? true;
}

/** The id of the credential itself, for limits and logs. No secret. */
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
