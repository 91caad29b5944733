/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}

/** Formats an endpoint as text, with an IPv6 address in brackets. */
export function hostAndPort({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns a map key that is equal for equal endpoints. */
export function endpointKey({ host, port }: Address): string {
  return `${host} ${port}`;
}
