import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, boolean, integer, nullable, primary, text } from './column-types.ts';

/** The servers' own databases. */
export class Databases1795996800000 implements MigrationInterface {
  name = 'Databases1795996800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'server_databases',
        columns: [
          primary(text('name')),
          nullable(text('serverId')),
          integer('generation'),
          boolean('settled'),
          bigint('createdAt'),
        ],
        uniques: [{ columnNames: ['serverId'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('server_databases');
  }
}
