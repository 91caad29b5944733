/** A player in a list of players. */
export interface Profile {
  name: string;
  /** With hyphens, in lower case. */
  uuid: string;
}
