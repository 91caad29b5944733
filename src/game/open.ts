/**
 * Starts games and interprets their logs and files. Never: user text in the variables of the game image, which expands
 * and downloads some of them.
 */
import type { TrustedWithCode } from '../engines/process/confined.ts';
import type { Feature } from '../web/feature.ts';
import { catalogueOperations } from './catalogue/api.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { type CoreRules, createCoreRules } from './core-rules.ts';

export interface OpenGameOptions {
  catalogue: Catalogue;
  trusted: TrustedWithCode;
  /** Whether an account is an operator's. Called each time, because the answer can change. */
  isOperatorAccount: (accountId: string) => Promise<boolean>;
  /** Whether this machine can get a core without an upload. */
  canGet: (core: string) => boolean;
}

/** Opens the catalogue of games and the rules on which of them a server can run. */
export function openGame({ catalogue, canGet, ...rules }: OpenGameOptions): { cores: CoreRules; feature: Feature } {
  const cores = createCoreRules(rules);
  return { cores, feature: { operations: catalogueOperations({ catalogue, cores, canGet }) } };
}
