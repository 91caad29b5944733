import type { Container } from 'dockerode';
import { until } from './until.ts';

/** Pauses a container. The kernel cannot freeze it while one of its threads waits for the disk, so it tries again. */
export async function paused(container: Container): Promise<void> {
  const isFrozen = () =>
    container.pause().then(
      () => true,
      (error: unknown) => {
        if (/unable to freeze/.test(String(error))) return false;
        throw error;
      },
    );
  await until({ everyMs: 250 }, isFrozen);
}
