/** A user of this machine, by number. */
export interface GameUser {
  uid: number;
  gid: number;
}

/** Versions of Java, both ends included; `most` is Infinity where no newest one is known. */
export interface JavaRange {
  least: number;
  most: number;
}

/** Who listens on this machine, as far as a game is concerned: TCP ports of its loopback. */
export interface Listeners {
  /** Where the game's own processes listen, and nobody else does. */
  own: readonly number[];
  /** Those of the game's own addresses at which somebody else listens. */
  taken: readonly number[];
}
