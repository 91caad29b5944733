import { type Address, hostAndPort } from '../../kernel/address.ts';
import { isEveryAddress } from '../../kernel/ip.ts';

/** Default port of Minecraft clients. */
const DEFAULT_PORT = 25_565;
/** Host name if the service has no name in the DNS. Only its own machine resolves it. */
const OWN_MACHINE = 'localhost';

/** Reads an address of `Addresses`. The host of '' is ''. */
export function endpointOf(address: string): Address {
  const [host = '', port] = address.split(':', 2);
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

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

/** How players without a server's name reach this installation. */
interface Entrance {
  /** Returns the default server; undefined without one. */
  meant: () => FallbackServer | undefined;
  /**
   * Returns this machine's host name in the home network; undefined if there is no such network or it is closed to
   * players.
   */
  homeHost?: () => string | undefined;
}

/** The addresses players connect to, with the port unless it is the game's default. */
export class Addresses {
  readonly #publicHost: string;
  readonly #playersPort: () => number;
  readonly #entrance: Entrance;
  readonly #networkHost: string;

  /** `playersPort`: a function, because the proxy may listen on any free port. `networkHost`: of private backends. */
  constructor(publicHost: string, playersPort: () => number, entrance: Entrance, networkHost = '127.0.0.1') {
    this.#publicHost = publicHost;
    this.#networkHost = networkHost;
    this.#playersPort = playersPort;
    this.#entrance = entrance;
  }

  /**
   * Returns a server's address; '' for a private backend. Few systems resolve names below `localhost` (RFC 6761 §6.3
   * leaves it to them; neither glibc nor Java does), so the default server is at `localhost` itself.
   */
  of({ id, hostname, networkPort }: { id: string; hostname: string; networkPort: number | null }): string {
    if (networkPort !== null) return '';
    const server = this.#entrance.meant();
    const needsNoName = this.#publicHost === OWN_MACHINE && server?.id === id && server.isAddressed;
    return this.#withPort(needsNoName ? OWN_MACHINE : `${hostname}.${this.#publicHost}`);
  }

  /** Returns the address at which a front finds a private backend; undefined if the server is public. */
  forFront({ networkPort }: { networkPort: number | null }): string | undefined {
    if (networkPort === null) return undefined;
    // At all addresses of this machine, the public one is the one to show.
    const host = isEveryAddress(this.#networkHost) ? this.#publicHost : this.#networkHost;
    return hostAndPort({ host, port: networkPort });
  }

  /** Returns the server's address for other machines of the home network; undefined if they cannot reach it. */
  atHome(serverId: string): string | undefined {
    const { meant, homeHost } = this.#entrance;
    const server = meant();
    const host = server?.id === serverId && server.byAnyName ? homeHost?.() : undefined;
    return host === undefined ? undefined : this.#withPort(host);
  }

  #withPort(host: string): string {
    const port = this.#playersPort();
    return port === DEFAULT_PORT ? host : `${host}:${port}`;
  }
}

/**
 * Returns the name in an address that must be in the hosts file to resolve; undefined if the address needs no entry.
 */
export function nameForHosts(address: string): string | undefined {
  const [host = ''] = address.split(':', 1);
  return host.endsWith(`.${OWN_MACHINE}`) ? host : undefined;
}
