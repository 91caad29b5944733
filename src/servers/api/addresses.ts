/** The port players' clients use unless told otherwise. */
const DEFAULT_PORT = 25_565;
/** Host name if the service has no name in the DNS. Only its own machine resolves it. */
const OWN_MACHINE = 'localhost';

/** The server that players mean who name none. */
export interface Meant {
  id: string;
  /** Reached by every name that is not another server's; else only by the machine's own, as `localhost`. */
  byAnyName: boolean;
  /** Its address is the machine's own name. A server that had another address before keeps that one. */
  isAddressed: boolean;
}

export interface AddressOptions {
  publicHost: string;
  /** The port players connect to; a function, as the proxy may be given any free one. */
  playersPort: () => number;
  /** Undefined without one. */
  meant: () => Meant | undefined;
  /** This machine in its own network; undefined: it is in none, or players are not let in from there. */
  homeHost?: () => string | undefined;
}

/** The addresses players connect to, with the port unless it is the game's default. */
export interface Addresses {
  /**
   * Returns a server's address. Few systems resolve names below `localhost` (RFC 6761 §6.3 leaves it to them; neither
   * glibc nor Java does): the default server is at `localhost` itself.
   */
  of(server: { id: string; hostname: string }): string;
  /** For other machines of the home network; undefined: it is not found from there. */
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

/** The name in an address that only a line of the hosts file may lead to; undefined: it needs none. */
export function nameForHosts(address: string): string | undefined {
  const [host = ''] = address.split(':', 1);
  return host.endsWith(`.${OWN_MACHINE}`) ? host : undefined;
}
