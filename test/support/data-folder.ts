import { join } from 'node:path';

/** Data folders as versions left them. */
export const FOLDERS = join(import.meta.dirname, '../fixtures/data-folders');

/** How to get into a kept data folder, and what its version said of it. */
export interface DataFolder {
  /** The service's clock when it stopped, epoch ms. */
  at: number;
  accountId: string;
  email: string;
  password: string;
  apiKey: string;
  /** One that waits for its approval. */
  grant: { deviceCode: string; userCode: string };
  /** Replies by the names of `repliesOf`. */
  said: Record<string, unknown>;
}

/** What is read of it, by name. */
export function repliesOf(accountId: string): Record<string, string> {
  const played = '/v1/servers/played';
  return {
    servers: '/v1/servers',
    wallet: `/v1/accounts/${accountId}/wallet`,
    ledger: `/v1/accounts/${accountId}/ledger`,
    members: `${played}/members`,
    backups: `${played}/backups`,
    schedules: `${played}/schedules`,
    players: `${played}/players`,
    audit: `${played}/audit`,
    usage: `${played}/usage`,
    templates: '/v1/templates',
    suspended: '/v1/servers/barred',
    failures: '/v1/servers/broken/diagnostics',
  };
}
