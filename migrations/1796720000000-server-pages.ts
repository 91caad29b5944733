import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** An account's servers are read in pages, oldest first. */
export class ServerPages1796720000000 implements MigrationInterface {
  name = 'ServerPages1796720000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createIndex('servers', new TableIndex({ columnNames: ['accountId', 'createdAt', 'id'] }));
    await dropIndex(runner, 'accountId');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.createIndex('servers', new TableIndex({ columnNames: ['accountId'] }));
    await dropIndex(runner, 'accountId,createdAt,id');
  }
}

/** `columns` by the alphabet: PostgreSQL tells those of an index in an order of its own. */
async function dropIndex(runner: QueryRunner, columns: string): Promise<void> {
  const index = (await runner.getTable('servers'))?.indices.find(
    ({ columnNames }) => columnNames.toSorted().join() === columns,
  );
  if (index !== undefined) await runner.dropIndex('servers', index);
}
