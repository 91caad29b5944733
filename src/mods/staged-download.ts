import type { Staging } from '../jail/jail.ts';
import type { RegistryFile } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import type { ModRegistry } from './registries/registry.ts';

const TRIES = 3;
/** Failures worth a retry. For an unreachable registry, its adapter has already retried. */
const AGAIN = new Set(['DOWNLOAD_BROKEN', 'CHECKSUM_MISMATCH']);

/**
 * Downloads a file to staging. Once this resolves, the file is complete and has the registry's checksum. `onBytes` is
 * called for each piece. Rejects like `ModRegistry.download`.
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
