import type { IncomingMessage } from 'node:http';
import { createKeyedMutex } from '../kernel/mutex.ts';
import type { Addresses } from '../servers/api/addresses.ts';
import type { ServerView } from '../servers/api/view.ts';
import { type ServerBlocksOptions, createServerBlocks } from '../servers/server-blocks.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { mountStatus } from './pages.ts';
import { createPublicStatusReader, type PublicStatuses } from './public-status.ts';
import { publicSettingOperations } from './public-setting-api.ts';
import { mountPublicSettings, mountJoiningSettings } from './settings-pages.ts';
import { publicStatusOperations } from './public-status-api.ts';
import type { WakePolicies } from './join-policy.ts';
import { wakePolicyOperations } from './wake-policy-api.ts';

export interface JoiningFeatureOptions extends Shared, ServerBlocksOptions {
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  serverView: ServerView;
  addresses: Addresses;
  clientAddress: (request: IncomingMessage) => string;
  settings: { baseUrl: string };
}

/** Join policies and public statuses, through the API and on pages. */
export function joiningFeature(options: JoiningFeatureOptions): Feature {
  const { servers, publicStatuses, wakePolicies, serverOperation, serverView, addresses, clock } = options;
  const { clientAddress, settings } = options;
  const config = { baseUrl: settings.baseUrl };
  const read = { publicStatuses, wakePolicies, servers, blocks: createServerBlocks(options), addresses, clock };
  const publicStatusReader = createPublicStatusReader(read);
  const withLock = createKeyedMutex();
  return {
    operations: [
      ...publicSettingOperations({ serverOperation, serverView, servers, publicStatuses, clock }),
      ...wakePolicyOperations({ serverOperation, servers, wakePolicies, clock, withLock }),
    ],
    publicOperations: publicStatusOperations({ publicStatusReader }),
    panel(panel) {
      mountJoiningSettings(panel);
      mountPublicSettings(panel, config);
    },
    pages: (_, router) => mountStatus(router, { publicStatusReader, clientAddress, config }),
  };
}
