import { StatusError } from '../../src/kernel/status.ts';
import type { ModRegistry } from '../../src/mods/registries/registry.ts';

/** Creates an empty registry. */
export function fakeRegistry(source: ModRegistry['source'] = 'modrinth'): ModRegistry {
  const none = async (): Promise<never> => {
    throw new StatusError('NOT_FOUND', 'MOD_NOT_FOUND', 'The registry is empty.');
  };
  return {
    source,
    search: async () => [],
    project: none,
    versions: async () => [],
    version: none,
    async *download() {
      yield await none();
    },
  };
}
