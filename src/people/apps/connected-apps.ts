import type { SessionPrincipal } from '../../http/principal.ts';
import { StatusError } from '../../kernel/status.ts';
import type { BrowserSessionServices } from '../browser-sessions.ts';
import { revokeApp } from './app-tokens.ts';
import { type ConnectedApp, listConnectedApps } from './token-rows.ts';

/** The apps the caller has let in, in the order they were. */
export async function connectedAppsOf(
  { store, clock }: Pick<BrowserSessionServices, 'store' | 'clock'>,
  { userId }: SessionPrincipal,
): Promise<ConnectedApp[]> {
  return listConnectedApps(store, userId, clock.now());
}

/** Ends all that an app holds of the caller: once this resolves, no call passes with it. NOT_FOUND APP_NOT_FOUND. */
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
