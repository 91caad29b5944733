import assert from 'node:assert';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import { type Meter, requireTimely } from '../billing/meter.ts';
import type { Engine } from '../engines/engine.ts';
import { EMBEDDED_VERSIONS } from '../game/catalogue/embedded.ts';
import { createCatalogue } from '../game/catalogue/published.ts';
import { createClientAddress } from '../http/client-address.ts';
import { createHttpServer } from '../http/http-server.ts';
import { createGrants } from '../people/grants/grants.ts';
import { signUpMode } from '../people/people.ts';
import type { OpenedProxies } from '../joining/link/open-proxies.ts';
import { createMojangProfiles } from '../players/mojang.ts';
import { createServiceApi } from './api.ts';
import { createPages } from './pages.ts';
import { type ServicesOptions, createServices } from './services.ts';

/** What is made here, or comes from the settings. */
type Own =
  | 'config'
  | 'log'
  | 'clock'
  | 'dataDir'
  | 'grants'
  | 'profiles'
  | 'catalogue'
  | 'clientAddress'
  | 'playersPort'
  | 'readiness';

/** The service, as the API and the pages show it. */
export type HttpOptions = Omit<ServicesOptions, Own> & {
  engine: Engine;
  proxies: Pick<OpenedProxies, 'listening' | 'link'>;
  meter: Pick<Meter, 'ageMs'>;
  /** Where players connect. */
  players: { port: number };
};

/** Serves the API and the pages. Rejects where the port cannot be had. */
export async function listenHttp(
  startup: { config: Config; log: Log; clock: Clock; onClose: OnClose },
  options: HttpOptions,
): Promise<AddressInfo> {
  const { config, log, clock, onClose } = startup;
  const { proxies, players, meter, ...shown } = options;
  const { store, secret, engine } = shown;
  const grants = createGrants({ store, clock, secret, log });
  const services = createServices({
    ...shown,
    config: { ...config, signup: signUpMode(config) },
    log,
    clock,
    dataDir: config.dataDir,
    grants,
    profiles: createMojangProfiles({ apiUrl: config.mojangApiUrl, clock }),
    catalogue: createCatalogue({ manifestUrl: config.versionManifestUrl, embedded: EMBEDDED_VERSIONS, clock }),
    clientAddress: createClientAddress(config.trustedProxies),
    playersPort: () => players.port,
    readiness: {
      // The writer's own connection: it is the one that fills up, locks, or falls behind.
      store: () => store.write((tx) => tx.query('SELECT 1')),
      engine: () => engine.list(),
      proxy: async () => assert(proxies.listening(), 'players are not listened for'),
      meter: async () => requireTimely(meter),
    },
  });
  grants.sweepLater();
  const api = createServiceApi({ log, services });
  api.use(createPages(services));
  const server = createHttpServer(api, { trusted: config.trustedProxies, link: proxies.link });
  server.listen(config.httpPort, config.httpHost);
  await once(server, 'listening');
  onClose(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return server.address() as AddressInfo;
}
