import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A schedule acts for whoever made or enabled it. Of those from before nobody knows who that was: they go on. */
export class ScheduleAuthors1796704200000 implements MigrationInterface {
  name = 'ScheduleAuthors1796704200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "schedules" ADD COLUMN "userId" text NOT NULL DEFAULT ''`);
    await runner.query(`ALTER TABLE "schedules" ADD COLUMN "keyId" text NOT NULL DEFAULT ''`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "schedules" DROP COLUMN "keyId"`);
    await runner.query(`ALTER TABLE "schedules" DROP COLUMN "userId"`);
  }
}
