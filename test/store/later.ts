/** Migrations that this release does not have. */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MIGRATIONS, type Migration } from '../../migrations/index.ts';

function later(at: number): Migration {
  const name = `Later${at}`;
  const named = {
    [name]: class implements MigrationInterface {
      name = name;
      async up(runner: QueryRunner) {
        await runner.query(`CREATE TABLE "${name}" ("id" text PRIMARY KEY NOT NULL)`);
      }
      async down() {}
    },
  };
  return named[name]!;
}

export const NEXT = later(9_999_999_999_998);
export const SECOND = later(9_999_999_999_999);
/** The migrations of a later release: two more than today. */
export const LATER: readonly Migration[] = [...MIGRATIONS, NEXT, SECOND];
