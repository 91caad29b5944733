import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, boolean, nullable, primary, text } from './column-types.ts';

/** What is done with servers by the clock. */
export class Schedules1796083200000 implements MigrationInterface {
  name = 'Schedules1796083200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'schedules',
        columns: [
          primary(text('id')),
          text('serverId'),
          text('kind'),
          text('command'),
          text('cronExpr'),
          boolean('enabled'),
          text('lastStatus'),
          text('lastError'),
          bigint('createdAt'),
          nullable(bigint('lastRunAt')),
          nullable(bigint('nextRunAt')),
          nullable(bigint('runningSince')),
        ],
        indices: [{ columnNames: ['serverId'] }, { columnNames: ['nextRunAt'] }],
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
    await runner.dropTable('schedules');
  }
}
