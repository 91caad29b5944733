/** A player, as lists of players name one. */
export interface Profile {
  name: string;
  /** With hyphens, in lower case. */
  uuid: string;
}
