import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { primary, text } from './column-types.ts';

/** What makes the console's password of one start of a server. */
export class ConsoleSalts1796700600000 implements MigrationInterface {
  name = 'ConsoleSalts1796700600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'console_salts',
        columns: [primary(text('serverId')), text('salt')],
        foreignKeys: [
          {
            columnNames: ['serverId'],
            referencedTableName: 'servers',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
          },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('console_salts');
  }
}
