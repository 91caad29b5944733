import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Secret } from '../../store/secret.ts';
import { type StoreCheck, createStoreCheck } from './check.ts';
import { type OffSite, createOffSite, placeOf } from './offsite.ts';
import { createS3 } from './s3.ts';

/** The settings of the same names, whose help explains them. */
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

/** The off-site place during the start of the service. */
export type StartingOffSite = OffSite & Pick<StoreCheck, 'settled'>;

/**
 * Opens the off-site stores of the settings and starts checking the place for new backups. Without BACKUP_STORE, only
 * existing off-site backups are accessed.
 */
export function openOffSite({ settings, secret, clock, log }: OpenOffSiteOptions): StartingOffSite {
  const endpoint = settings.s3Endpoint ?? '';
  const location = settings.backupStore ?? '';
  const { s3Region: region, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, s3PathStyle } = settings;
  const pathStyle = s3PathStyle === 'auto' ? endpoint !== '' : s3PathStyle === 'true';
  const open = createS3({ endpoint, region, pathStyle, accessKeyId, secretAccessKey, clock });
  if (location === '') return { ...createOffSite('', open), settled: async () => {} };
  const installation = secret.derive('backup-store', location);
  const check = createStoreCheck({ bucket: open(placeOf(location)), location, endpoint, installation, log });
  return { ...createOffSite(location, open, check.passed), settled: check.settled };
}
