import { Initial1795132800000 } from './1795132800000-initial.ts';
import { People1795219200000 } from './1795219200000-people.ts';
import { Money1795305600000 } from './1795305600000-money.ts';
import { Metrics1795308300000 } from './1795308300000-metrics.ts';
import { Sftp1795651200000 } from './1795651200000-sftp.ts';

/** All migrations, oldest first. One that has been released never changes. */
export const migrations = [
  Initial1795132800000,
  People1795219200000,
  Money1795305600000,
  Metrics1795308300000,
  Sftp1795651200000,
];
