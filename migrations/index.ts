import type { MigrationInterface } from 'typeorm';
import { Initial1795761000000 } from './1795761000000-initial.ts';

/** A change of tables. The name of the class ends with the instant (epoch ms) that orders it. */
export type Migration = new () => MigrationInterface;

/** All migrations, oldest first. One that has been released never changes. */
export const MIGRATIONS: readonly Migration[] = [Initial1795761000000];
