import { StatusError } from '../kernel/status.ts';
import { isOperatorAccount } from '../people/rows.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Store } from '../store/store.ts';
import { SANDBOX } from './container.ts';

/** Whose servers may run code that was uploaded. `nobody`: it would run with all rights of this machine. */
export type TrustedWithCode = 'everybody' | 'operators' | 'nobody';

/**
 * Which servers may run what. Every core but the sandbox runs jars, plugins and mods that its owner has brought; where games
 * are processes of this machine, that is code which the machine itself runs.
 */
export interface CoreRules {
  /** PERMISSION_DENIED UPLOADED_CODE_NOT_ALLOWED for a server that may not run code of its owner here. */
  require(row: Pick<ServerRow, 'accountId' | 'type'>): Promise<void>;
}

/** An account is an operator's where one of its own users is one. Asked anew each time, as that may change. */
export function createCoreRules({ store, trusted }: { store: Store; trusted: TrustedWithCode }): CoreRules {
  return {
    async require({ accountId, type }) {
      if (type === SANDBOX || trusted === 'everybody') return;
      if (trusted === 'operators' && (await isOperatorAccount(store, accountId))) return;
      throw new StatusError('PERMISSION_DENIED', 'UPLOADED_CODE_NOT_ALLOWED', SENTENCES[trusted], {
        metadata: { type },
      });
    },
  };
}

const SENTENCES = {
  operators:
    'Here games are processes of the machine itself, so that only operators may have servers of this type, which run ' +
    'code of their owners. Take the type sandbox, or ask the operator for the Docker engine.',
  nobody:
    'Here games would run with all rights of the machine, so that only the type sandbox is offered. The operator can use ' +
    'the Docker engine, install bubblewrap, or run the service as a user of its own.',
};
