import type { MigrationInterface, QueryRunner } from 'typeorm';

const DAY_MS = 86_400_000;
/** What an app token has without being used; those from before begin with it now. */
const APP_TOKEN_DAYS = 180;

/** App tokens end some time after their last use, and a session knows when its user last gave the password. */
export class CredentialAges1796697000000 implements MigrationInterface {
  name = 'CredentialAges1796697000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "app_tokens" ADD COLUMN "expiresAt" bigint NOT NULL DEFAULT 0`);
    await runner.query(`UPDATE "app_tokens" SET "expiresAt" = ${Date.now() + APP_TOKEN_DAYS * DAY_MS}`);
    await runner.query(`ALTER TABLE "sessions" ADD COLUMN "provedAt" bigint NOT NULL DEFAULT 0`);
    await runner.query(`UPDATE "sessions" SET "provedAt" = "createdAt"`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "sessions" DROP COLUMN "provedAt"`);
    await runner.query(`ALTER TABLE "app_tokens" DROP COLUMN "expiresAt"`);
  }
}
