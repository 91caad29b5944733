import { SANDBOX, isProxy } from './cores.ts';
import type { TrustedWithCode } from '../engines/process/confined.ts';
import { type RefusalWords, StatusError } from '../kernel/status.ts';

/**
 * Rules on which servers can run which cores. Every core but the sandbox runs jars, plugins and mods uploaded by its
 * owner. If games are processes, that code runs directly on the machine.
 */
export interface CoreRules {
  /** Throws UPLOADED_CODE_NOT_ALLOWED if its owner's code must not run here, CORE_UNAVAILABLE if its core cannot. */
  require(row: { accountId: string; type: string }): Promise<void>;
  /**
   * Throws PERMISSION_DENIED UPLOADED_CODE_NOT_ALLOWED if the caller must not write files that an operator's server
   * would run.
   */
  requireWriter(caller: { accountId: string }, row: { accountId: string }): Promise<void>;
  /** Members of an operator's server must not write its files, unless they are operators too. */
  operatorsWriteAlone: boolean;
}

/** `isOperatorAccount` is called each time, because the answer can change. The image of `inContainers` has no proxies. */
export function createCoreRules(
  trusted: TrustedWithCode,
  isOperatorAccount: (accountId: string) => Promise<boolean>,
  inContainers = false,
): CoreRules {
  return {
    async require({ accountId, type }) {
      if (inContainers && isProxy(type))
        throw new StatusError('FAILED_PRECONDITION', 'CORE_UNAVAILABLE', NO_PROXIES, { words: WORDS });
      if (type === SANDBOX || trusted === 'everybody') return;
      const isOperator = await isOperatorAccount(accountId);
      if (trusted === 'operators' && isOperator) return;
      const sentence = trusted === 'operators' ? OPERATORS_ONLY : isOperator ? trusted.refusal : SANDBOX_ONLY;
      throw new StatusError('PERMISSION_DENIED', 'UPLOADED_CODE_NOT_ALLOWED', sentence, {
        metadata: { type },
        words: WORDS,
      });
    },
    async requireWriter(caller, { accountId }) {
      if (trusted === 'everybody' || caller.accountId === accountId) return;
      if (!(await isOperatorAccount(accountId)) || (await isOperatorAccount(caller.accountId))) return;
      throw new StatusError('PERMISSION_DENIED', 'UPLOADED_CODE_NOT_ALLOWED', WRITER_SENTENCE);
    },
    operatorsWriteAlone: trusted !== 'everybody',
  };
}

const WORDS: RefusalWords = {
  player: "This host can't run this type of server. Ask its owner.",
  list: '§7Asleep: §fcannot run here',
  owner: {
    title: 'Its software can’t run here',
    mend: ['member', 'settings/version', 'choose another'],
    others: 'ask its owner to choose another',
  },
};
const NO_PROXIES =
  'Velocity is not available in containers: the game image does not contain it. Run it outside Dormouse and choose the ' +
  'front `external`, or use ENGINE=process.';
const OPERATORS_ONLY =
  'Servers of this type run code from their owners. Games run directly on the machine here, so only operators can ' +
  'have them. Choose the type sandbox, or ask the operator to use the Docker engine.';
const SANDBOX_ONLY = 'Only the type sandbox is available here. The operator can find the fix in the service log.';
const WRITER_SENTENCE =
  'Games run directly on the machine here and run code from their files, so only operators can change the files, ' +
  'mods and mod packs of this server.';
