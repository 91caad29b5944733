import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Secret } from '../../store/secret.ts';
import { checkStore } from './check.ts';
import { type OffSite, createOffSite } from './offsite.ts';
import { createS3 } from './s3.ts';

/** Those of the configuration; its help says what they mean. */
export interface OffSiteSettings {
  backupStore: string | null;
  s3Endpoint: string | null;
  s3Region: string;
  s3PathStyle: 'auto' | 'true' | 'false';
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
}

export interface OpenOffSiteOptions {
  settings: OffSiteSettings;
  secret: Secret;
  clock: Clock;
  log: Log;
}

/**
 * Where backups lie off site by the settings. Rejects as `checkStore` where new ones are to go there. Without BACKUP_STORE it is
 * asked only for backups that were brought there before.
 */
export async function openOffSite({ settings, secret, clock, log }: OpenOffSiteOptions): Promise<OffSite> {
  const endpoint = settings.s3Endpoint ?? '';
  const location = settings.backupStore ?? '';
  const { s3Region: region, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3PathStyle } = settings;
  const pathStyle = s3PathStyle === 'auto' ? endpoint !== '' : s3PathStyle === 'true';
  const offSite = createOffSite(
    location,
    createS3({ endpoint, region, pathStyle, accessKeyId, secretAccessKey, clock }),
  );
  if (location !== '') {
    const installation = secret.derive('backup-store', location);
    await checkStore({ bucket: offSite.bucket(location), location, endpoint, installation, log });
  }
  return offSite;
}
