import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of which server a session was: one of the same name may have been there before. */
export class SessionServer1796439600000 implements MigrationInterface {
  name = 'SessionServer1796439600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "awake_sessions" ADD COLUMN "serverCreatedAt" bigint NOT NULL DEFAULT 0`);
    // A session that lasts is the present server's, whatever the clock was when it began.
    await runner.query(`UPDATE "awake_sessions" SET "serverCreatedAt" = v."createdAt" FROM "servers" v
      WHERE v."id" = "awake_sessions"."serverId" AND v."accountId" = "awake_sessions"."accountId"
        AND ("awake_sessions"."endedAt" IS NULL OR "awake_sessions"."startedAt" >= v."createdAt")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "awake_sessions" DROP COLUMN "serverCreatedAt"`);
  }
}
