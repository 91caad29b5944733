/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}

/** As it is written: an IPv6 address in brackets. */
export function hostAndPort({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A key for maps: equal for equal endpoints. */
export function endpointKey({ host, port }: Address): string {
  return `${host} ${port}`;
}
