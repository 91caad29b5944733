import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An operation of the control API as the reference lists it. */
export interface Listed {
  number: number;
  /** The heading it stands under. */
  section: string;
  method: string;
  path: string;
  id: string;
  /** What an API key must hold; `any`: a valid one will do. */
  scope: string;
  /** What an app must hold, where apps may call it. */
  appScope?: string;
  keyOnly?: boolean;
}

/** All of them, in its order. */
export const REFERENCE = JSON.parse(
  readFileSync(join(import.meta.dirname, '../fixtures/operations.json'), 'utf8'),
) as readonly Listed[];
