import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Owners say whether clients of other versions of the game can play on their server. */
export class ClientVersions1796707800000 implements MigrationInterface {
  name = 'ClientVersions1796707800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "servers" ADD COLUMN "clientVersions" text NOT NULL DEFAULT 'auto'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE "servers" DROP COLUMN "clientVersions"');
  }
}
