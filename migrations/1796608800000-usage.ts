import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** Finds what was charged for a server in a span of time. */
export class Usage1796608800000 implements MigrationInterface {
  name = 'Usage1796608800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createIndex('ledger', new TableIndex({ columnNames: ['serverId', 'ts'] }));
  }

  async down(runner: QueryRunner): Promise<void> {
    const table = await runner.getTable('ledger');
    const index = table?.indices.find(({ columnNames }) => columnNames.join() === 'serverId,ts');
    if (index !== undefined) await runner.dropIndex('ledger', index);
  }
}
