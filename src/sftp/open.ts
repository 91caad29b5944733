import type { BlockList } from 'node:net';
import type { DiskQuota } from '../disk/quota.ts';
import type { Files } from '../files/files.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { openHostKey } from './host-key.ts';
import { warnWithoutNativeCrypto } from './native-crypto.ts';
import { type Sftp, createSftp } from './sftp.ts';

export interface OpenSftpOptions {
  store: Store;
  servers: Pick<Servers, 'observe'>;
  files: Pick<Files, 'jail'>;
  disk: DiskQuota;
  settings: { dataDir: string; trustedProxies: BlockList };
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** Servers' files over SFTP; it listens nowhere yet. What is open on a server ends with its deletion. */
export async function openSftp({ servers, settings, log, onClose, ...rest }: OpenSftpOptions): Promise<Sftp> {
  const { dataDir, trustedProxies: trusted } = settings;
  const hostKey = await openHostKey(dataDir);
  const sftp = createSftp({ ...rest, dataDir, trusted, hostKey, log: log.child({ room: 'sftp' }) });
  // At once, as the erasing of a deleted server may wait for its engine.
  onClose(servers.observe((id, now) => void (now?.state === 'deleting' && sftp.cut(id))));
  return sftp;
}

/** Lets SFTP clients in. Rejects where the port cannot be had. */
export async function listenSftp(
  sftp: Sftp,
  {
    settings,
    log,
    onClose,
  }: {
    settings: { sftpHost: string; sftpPort: number };
    log: Log;
    onClose: OnClose;
  },
): Promise<void> {
  warnWithoutNativeCrypto(log);
  onClose(() => sftp.close());
  await sftp.listen(settings.sftpHost, settings.sftpPort);
}
