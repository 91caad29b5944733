import type { DiskQuota } from '../disk/quota.ts';
import type { CoreRules } from '../game/core-rules.ts';
import type { NodeDrain } from './node-drain.ts';
import type { Orphans } from './orphans.ts';
import type { Suspensions } from './suspensions.ts';

/** What this node allows its servers, as handlers ask for it. */
export interface NodeServices {
  disk: DiskQuota;
  suspensions: Suspensions;
  drain: NodeDrain;
  orphans: Orphans;
  cores: CoreRules;
}
