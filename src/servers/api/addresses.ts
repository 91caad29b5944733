/** Default port of Minecraft clients. */
const DEFAULT_PORT = 25_565;
/** Host name if the service has no name in the DNS. Only its own machine resolves it. */
const OWN_MACHINE = 'localhost';

/** How players reach the default server, which needs no name. */
export interface FallbackServer {
  id: string;
  /**
   * Whether players reach it by any name that no other server has. If not, only by the machine's own names, such as
   * `localhost`.
   */
  byAnyName: boolean;
  /** Whether its address is the machine's own name. A server that already had another address keeps that. */
  isAddressed: boolean;
}

export interface AddressOptions {
  publicHost: string;
  /** The port players connect to; a function because the proxy may listen on any free port. */
  playersPort: () => number;
  /** Returns the default server; undefined without one. */
  meant: () => FallbackServer | undefined;
  /**
   * Returns this machine's host name in the home network; undefined if there is no such network or it is closed to
   * players.
   */
  homeHost?: () => string | undefined;
}

/** The addresses players connect to, with the port unless it is the game's default. */
export interface Addresses {
  /**
   * Returns a server's address. Few systems resolve names below `localhost` (RFC 6761 §6.3 leaves it to them; neither
   * glibc nor Java does), so the default server is at `localhost` itself.
   */
  of(server: { id: string; hostname: string }): string;
  /** Returns the server's address for other machines of the home network; undefined if they cannot reach it. */
  atHome(serverId: string): string | undefined;
}

export function createAddresses({ publicHost, playersPort, meant, homeHost }: AddressOptions): Addresses {
  function withPort(host: string): string {
    const port = playersPort();
    return port === DEFAULT_PORT ? host : `${host}:${port}`;
  }

  return {
    of({ id, hostname }) {
      const server = meant();
      const needsNoName = publicHost === OWN_MACHINE && server?.id === id && server.isAddressed;
      return withPort(needsNoName ? OWN_MACHINE : `${hostname}.${publicHost}`);
    },
    atHome(serverId) {
      const server = meant();
      const host = server?.id === serverId && server.byAnyName ? homeHost?.() : undefined;
      return host === undefined ? undefined : withPort(host);
    },
  };
}

/**
 * Returns the name in an address that must be in the hosts file to resolve; undefined if the address needs no entry.
 */
export function nameForHosts(address: string): string | undefined {
  const [host = ''] = address.split(':', 1);
  return host.endsWith(`.${OWN_MACHINE}`) ? host : undefined;
}
