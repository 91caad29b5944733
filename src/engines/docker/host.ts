import type { DockerOptions } from 'dockerode';

/**
 * Converts `DOCKER_HOST` (`unix:///…`, `npipe:///…`, `tcp://host:port`, `http(s)://…`, `ssh://…`) to dockerode's
 * options.
 */
export function dockerOptions(dockerHost: string): DockerOptions {
  const { protocol, hostname, port, username, pathname } = new URL(dockerHost);
  if (protocol === 'unix:' || protocol === 'npipe:') return { socketPath: pathname };
  if (protocol === 'ssh:') return { protocol: 'ssh', host: hostname, port: port || 22, username };
  const secure = protocol === 'https:' || port === '2376';
  return { protocol: secure ? 'https' : 'http', host: hostname, port: port || (secure ? 2376 : 2375) };
}
