/**
 * A server id as engines put it into container names and file names. Ids are checked where they are made; an engine
 * checks again, because here a stray `/` or `..` would be somebody else's file. Throws TypeError.
 */
export function checkedServerId(serverId: string): string {
  if (isServerId(serverId)) return serverId;
  throw new TypeError(`not a server id: ${JSON.stringify(serverId.slice(0, 80))}`);
}

/** Whether a name, of a file for example, can be that of a server. */
export function isServerId(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
