import { createRequire } from 'node:module';
import type { Log } from '../kernel/log.ts';

/**
 * Whether the compiled part of the SSH library loads. Without it, everything works at a third of the speed, and the library
 * does not say so.
 */
export function hasNativeCrypto(): boolean {
  try {
    createRequire(import.meta.url)('ssh2/lib/protocol/crypto/build/Release/sshcrypto.node');
    return true;
  } catch {
    return false;
  }
}

export function warnWithoutNativeCrypto(log: Log, isThere = hasNativeCrypto()): void {
  if (isThere) return;
  log.warn('the native part of ssh2 was not built for this Node, so that SFTP is slow: run npm rebuild ssh2');
}
