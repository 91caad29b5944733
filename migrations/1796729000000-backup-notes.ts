import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A backup says what to know before it is restored. */
export class BackupNotes1796729000000 implements MigrationInterface {
  name = 'BackupNotes1796729000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "backups" ADD COLUMN "note" text NOT NULL DEFAULT ''`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE "backups" DROP COLUMN "note"');
  }
}
