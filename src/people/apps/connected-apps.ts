import type { SessionPrincipal } from '../../http/principal.ts';
import { StatusError } from '../../kernel/status.ts';
import type { BrowserSessionServices } from '../browser-sessions.ts';
import { revokeApp } from './app-tokens.ts';
import { type ConnectedApp, listConnectedApps } from './token-rows.ts';

/** Returns the apps that the caller has approved, in order of approval. */
export async function connectedAppsOf(
  { store, clock }: Pick<BrowserSessionServices, 'store' | 'clock'>,
  { userId }: SessionPrincipal,
): Promise<ConnectedApp[]> {
  return listConnectedApps(store, userId, clock.now());
}

/** Revokes an app's tokens for the caller. Once this resolves, they are refused. NOT_FOUND APP_NOT_FOUND. */
export async function disconnectApp(
  services: BrowserSessionServices,
  principal: SessionPrincipal,
  clientId: string,
): Promise<void> {
  if (!(await revokeApp(services, principal, clientId))) {
    throw new StatusError('NOT_FOUND', 'APP_NOT_FOUND', 'There is no such connected app.', { metadata: { clientId } });
  }
  services.accessChanges.announce({ clientId, userId: principal.userId });
}
