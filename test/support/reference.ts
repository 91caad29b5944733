import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An operation of the control API as the reference lists it. */
export interface Listed {
  number: number;
  /** The heading above it. */
  section: string;
  method: string;
  path: string;
  id: string;
  /** The scope that an API key needs; `any`: every valid key. */
  scope: string;
  /** The scope that an app needs, if apps may call it. */
  appScope?: string;
  keyOnly?: boolean;
}

/** All operations, in the order of the reference. */
export const REFERENCE = JSON.parse(
  readFileSync(join(import.meta.dirname, '../fixtures/operations.json'), 'utf8'),
) as readonly Listed[];
