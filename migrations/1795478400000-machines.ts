import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When a grant entered its state, and how it came there. */
export class Machines1795478400000 implements MigrationInterface {
  name = 'Machines1795478400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "grants" ADD COLUMN "changedAt" bigint NOT NULL DEFAULT 0`);
    await runner.query(`ALTER TABLE "grants" ADD COLUMN "history" text NOT NULL DEFAULT '[]'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "grants" DROP COLUMN "history"`);
    await runner.query(`ALTER TABLE "grants" DROP COLUMN "changedAt"`);
  }
}
