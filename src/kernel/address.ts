/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}
