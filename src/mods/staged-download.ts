import type { Staging } from '../jail/jail.ts';
import type { RegistryFile } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import type { ModRegistry } from './registries/registry.ts';

const TRIES = 3;
/** What may go well the next time; where a registry is out of reach, its adapter has tried often enough. */
const AGAIN = new Set(['DOWNLOAD_BROKEN', 'CHECKSUM_MISMATCH']);

/**
 * Downloads a file out of sight of the game; once this resolves it is whole and what its registry vouches for. `onBytes` is
 * told of each piece. Rejects as `ModRegistry.download` does.
 */
export async function stageDownload(
  registry: Pick<ModRegistry, 'download'>,
  staging: Staging,
  path: string,
  file: RegistryFile,
  { signal, onBytes = () => {} }: { signal: AbortSignal; onBytes?: (bytes: number) => void },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await using out = await staging.create(path);
      let position = 0;
      for await (const chunk of registry.download(file, signal)) {
        await out.write(position, chunk);
        position += chunk.length;
        onBytes(chunk.length);
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (tries === TRIES || !(error instanceof StatusError && AGAIN.has(error.reason))) throw error;
    }
  }
}
