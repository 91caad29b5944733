import { createProxy } from '../../proxy/index.ts';
import { HOST, running } from '../proxy/support.ts';

/** Starts a proxy in this process whose one game always runs. Returns its port. */
export async function proxyTo(gamePort: number): Promise<number> {
  const route = running({ host: '127.0.0.1', port: gamePort });
  const silent = (): void => undefined;
  const proxy = createProxy({
    routes: { lookup: (host) => (host === HOST ? route : undefined) },
    wake: { admit: async () => {}, wake: () => Promise.reject(new Error('always awake')) },
    log: { debug: silent, info: silent, warn: silent },
  });
  return (await proxy.listen('127.0.0.1', 0)).port;
}
