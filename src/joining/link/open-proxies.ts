import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { portOfKey } from '../../../proxy/hostname.ts';
import { createProxy } from '../../../proxy/index.ts';
import type { Address } from '../../../proxy/ports.ts';
import { programVersion } from '../../../proxy/environment.ts';
import { randomToken } from '../../kernel/ids.ts';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import type { Log } from '../../kernel/log.ts';
import type { Presence } from '../../servers/presence.ts';
import type { Shared } from '../../servers/shared.ts';
import type { JoinPolicy } from '../join-policy.ts';
import type { Routing } from '../routing.ts';
import { createBanFeed } from './ban-feed.ts';
import { drainChild, type ProxySettings } from './child-process.ts';
import { ChildKeeper } from './child-keeper.ts';
import { type LinkServer, createLinkServer } from './link-server.ts';
import { LinkedProxies } from './linked-proxies.ts';
import type { Proxies } from './proxies.ts';

/** The opened proxies, and the link server for proxies on other machines; undefined without one. */
export interface OpenedProxies extends Proxies {
  link: LinkServer | undefined;
}

/** Time for proxies on other machines to report their players after a start. */
const REPORT_MS = 10_000;

/**
 * Opens the service for players; none can join before `open`. Windows has no file-system sockets to link a child
 * process by: there the proxy is embedded.
 */
export async function openProxies(shared: Shared, settings: ProxySettings, ports: Ports): Promise<OpenedProxies> {
  const { proxy } = settings;
  const log = shared.log.child({ room: 'proxy' });
  if (proxy === 'embedded' || (proxy === 'child' && process.platform === 'win32'))
    return embedded(settings, ports, log);
  const bans = createBanFeed(shared, ports.joinPolicy, log);
  return linked(settings, ports, bans, log);
}

interface Ports {
  routing: Routing;
  joinPolicy: JoinPolicy;
  presence: Presence;
}

/** Runs the proxy in this process. */
function embedded(settings: ProxySettings, { routing, presence }: Ports, log: Log): OpenedProxies {
  const { proxyHost, proxyPort, sessionServerUrl, proxyProtocolFrom, forwardingFrom, floodgateKey } = settings;
  const { networkHost } = settings;
  const ports = { routes: routing, wake: routing, presence };
  const fronts = { proxyProtocolFrom, forwardingFrom, floodgateKey, networkHost };
  const proxy = createProxy({ ...ports, log, sessionServerUrl, ...fronts });
  const since = Date.now();
  const version = programVersion();
  let listening: Address | null = null;
  return {
    link: undefined,
    async open() {
      listening = await proxy.listen(proxyHost, proxyPort);
      const ports = new Set<number>();
      const note = (host: string): void => {
        const port = portOfKey(host);
        if (port === undefined) return;
        ports[routing.feed.at(host) ? 'add' : 'delete'](port);
        proxy.openPorts(ports);
      };
      routing.feed.hosts().forEach(note);
      routing.feed.follow(note);
      return listening;
    },
    players: (serverId) => proxy.players(serverId),
    stats: () => proxy.stats(),
    port: () => listening?.port ?? proxyPort,
    listening: () => proxy.listening(),
    views() {
      const { piped: players, held } = proxy.stats();
      const state = { draining: false, connected: true, lagMs: 0 };
      return [{ id: 'embedded', name: 'embedded', version, since, listening, players, held, ...state }];
    },
    // An embedded proxy checks bans at each join.
    addressBansChanged() {},
    farewell: async () => '',
    shut: () => proxy.close(),
    close: () => proxy.close(),
  };
}

/** Runs proxies in separate processes, which outlive this one. */
async function linked(
  settings: ProxySettings,
  { routing, presence }: Ports,
  bans: ReturnType<typeof createBanFeed>,
  log: Log,
): Promise<OpenedProxies> {
  const { dataDir, logLevel, proxyHost, proxyPort } = settings;
  const proxies = new LinkedProxies({
    routes: routing.feed,
    bans,
    wake: routing,
    presence,
    log,
    logLevel,
    onChange: () => keeper?.check(),
    onRefused: (hello, isOwn) => isOwn && keeper?.refused(hello),
  });
  const keeper = settings.proxy === 'child' ? new ChildKeeper(settings, proxies, log) : undefined;
  const server = createLinkServer(proxies, await tokenOf(settings));
  if (keeper) {
    await server.listenAt(keeper.linkPath);
    presence.expect(keeper.start());
  } else {
    presence.expect(delay(REPORT_MS, undefined, { ref: false }));
  }
  let port = proxyPort;
  async function close(): Promise<void> {
    keeper?.close();
    bans.close();
    proxies.close();
    await server.close();
  }

  return {
    link: server,
    async open() {
      proxies.open();
      if (!keeper) return { host: proxyHost, port };
      const listening = await keeper.listening();
      ({ port } = listening);
      return listening;
    },
    players: (serverId) => proxies.players(serverId),
    stats: () => proxies.stats(),
    port: () => port,
    listening: () => proxies.views().some(({ connected, listening }) => connected && listening !== null),
    views: () => proxies.views(),
    addressBansChanged: (serverId) => bans.refresh(serverId),
    async farewell() {
      keeper?.close();
      if (!keeper || !(await drainChild(dataDir))) return '';
      const { piped } = proxies.stats();
      return piped === 0 ? '' : 'Players stay connected. The proxy exits when the last player has left.';
    },
    shut: close,
    close,
  };
}

/** The secret by which proxies on other machines or in other containers authenticate. */
async function tokenOf({ proxy, proxyToken, dataDir }: ProxySettings): Promise<string> {
  if (proxyToken !== '' || proxy !== 'external') return proxyToken;
  const path = join(dataDir, 'proxy.token');
  const known = (await readIfThere(path))?.toString().trim();
  if (known) return known;
  const token = randomToken();
  await writeAtomic(path, `${token}\n`, { durable: true });
  return token;
}
