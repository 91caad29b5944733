/**
 * Starts games and interprets their logs and files. Never: user text in the variables of the game image, which expands
 * and downloads some of them.
 */
import type { Feature } from '../web/feature.ts';
import { type CanGet, catalogueOperations } from './catalogue/api.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { CoreRules } from './core-rules.ts';

/** Opens the catalogue of games and the rules on which of them a server can run. */
export function openGame(catalogue: Catalogue, cores: CoreRules, canGet: CanGet): Feature {
  return { operations: catalogueOperations(catalogue, cores, canGet) };
}
