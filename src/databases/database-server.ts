/**
 * A server of MySQL databases. `name` names a database and its user: at most 32 lower-case letters, digits and
 * underscores. Rejects with StatusError UNAVAILABLE if the server cannot be reached.
 */
export interface Databases {
  /**
   * Creates or updates the database and its user. The user has all privileges in it and none elsewhere, and signs in
   * with this password only. Open sessions end.
   */
  provide(name: string, password: string): Promise<void>;
  /** Removes the database and its user if they exist, and ends the user's sessions. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}
