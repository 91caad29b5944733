import type { MigrationInterface } from 'typeorm';
import { Initial1795761000000 } from './1795761000000-initial.ts';

/** A change of tables. The class name ends with a time (epoch ms), which determines the order. */
export type Migration = new () => MigrationInterface;

/** All migrations, oldest first. A released migration never changes. */
export const MIGRATIONS: readonly Migration[] = [Initial1795761000000];
