/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}

/** A key for maps: equal for equal endpoints. */
export function endpointKey({ host, port }: Address): string {
  return `${host} ${port}`;
}
