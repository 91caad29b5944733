/**
 * Serves servers' files over SFTP, under the same rules as elsewhere. Never: a shell, a forwarded port, or a file
 * outside of the server's folder.
 */
import { createRequire } from 'node:module';
import type { AddressInfo, BlockList } from 'node:net';
import type { DiskQuota } from '../disk/quota.ts';
import type { Files } from '../files/files.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { sftpOperations } from './api.ts';
import { Sftp, openHostKey } from './sftp.ts';
import { sshKeyOperations } from './ssh-keys-api.ts';
import { mountSshKeys } from './ssh-keys-pages.ts';

/**
 * Opens SFTP for servers' files. It accepts clients only after `listenSftp`. The deletion of a server ends its
 * connections.
 */
export async function openSftp(
  shared: Shared,
  accounts: Accounts,
  files: Files,
  disk: DiskQuota,
  settings: { dataDir: string; publicHost: string; sftpPublicHost?: string | null; trustedProxies?: BlockList },
): Promise<{ sftp: Sftp; feature: Feature }> {
  const { store, servers, clock, log, onClose } = shared;
  const { dataDir, trustedProxies } = settings;
  const publicHost = settings.sftpPublicHost || settings.publicHost;
  const base = { store, clock, log: log.child({ room: 'sftp' }), dataDir };
  const sftp = new Sftp(base, await openHostKey(dataDir), files, disk, trustedProxies);
  // Ends them at once, because erasing a deleted server may wait for its engine.
  onClose(servers.observe((id, now) => void (now?.state === 'deleting' && sftp.cut(id))));
  const keys = { ...accounts, sftp };
  return {
    sftp,
    feature: {
      operations: [...sftpOperations(shared, sftp, publicHost), ...sshKeyOperations(keys)],
      pages: (serve) => mountSshKeys(serve, keys),
    },
  };
}

/** Accepts SFTP clients and resolves with the address of the port. Rejects if the port cannot be opened. */
export async function listenSftp(
  sftp: Sftp,
  { settings, log, onClose }: Pick<Shared, 'log' | 'onClose'> & { settings: { sftpHost: string; sftpPort: number } },
): Promise<AddressInfo> {
  warnWithoutNativeCrypto(log);
  onClose(() => sftp.close());
  return await sftp.listen(settings.sftpHost, settings.sftpPort);
}

/**
 * Whether the compiled part of the SSH library loads. Without it, SFTP works at a third of the speed, and the library
 * does not report that.
 */
export function hasNativeCrypto(): boolean {
  try {
    createRequire(import.meta.url)('ssh2/lib/protocol/crypto/build/Release/sshcrypto.node');
    return true;
  } catch {
    return false;
  }
}

export function warnWithoutNativeCrypto(log: Shared['log'], isThere = hasNativeCrypto()): void {
  if (isThere) return;
  log.warn('SFTP is slow, because the native part of ssh2 was not built for this Node; run npm rebuild ssh2');
}
