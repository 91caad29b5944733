import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Owners choose whether players are shown a server's start while they wait. */
export class WaitingRooms1796706000000 implements MigrationInterface {
  name = 'WaitingRooms1796706000000';

  async up(runner: QueryRunner): Promise<void> {
    const off = runner.connection.options.type === 'postgres' ? 'false' : '(0)';
    await runner.query(`ALTER TABLE "servers" ADD COLUMN "waitingRoom" boolean NOT NULL DEFAULT ${off}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE "servers" DROP COLUMN "waitingRoom"');
  }
}
