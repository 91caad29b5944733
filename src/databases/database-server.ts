/**
 * A server of MySQL databases. `name` is both a database's and its user's: lower-case letters, digits and underscores, at
 * most 32. Rejects with StatusError UNAVAILABLE where the server is out of reach.
 */
export interface Databases {
  /**
   * Makes it so that the database is there, and that its user may do anything in it, nothing elsewhere, and signs in with
   * this password alone: sessions that were open end.
   */
  provide(name: string, password: string): Promise<void>;
  /** Removes both, whatever is there of them, and ends the user's sessions. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}
