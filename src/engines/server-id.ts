/**
 * Returns a server id for use in container and file names. Ids are validated when created. Engines validate them again,
 * because a `/` or `..` would lead to another server's file. Throws TypeError for an invalid id.
 */
export function checkedServerId(serverId: string): string {
  if (isServerId(serverId)) return serverId;
  throw new TypeError(`not a server id: ${JSON.stringify(serverId.slice(0, 80))}`);
}

/** Returns whether a name, for example of a file, is a valid server id. */
export function isServerId(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
