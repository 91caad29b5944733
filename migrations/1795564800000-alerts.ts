import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, integer, primary, text } from './column-types.ts';

/** Servers that are too slow, and what their webhooks are still to be told. */
export class Alerts1795564800000 implements MigrationInterface {
  name = 'Alerts1795564800000';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables()) await runner.createTable(table);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables().toReversed()) await runner.dropTable(table.name);
  }
}

const ofServer = {
  columnNames: ['serverId'],
  referencedTableName: 'servers',
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE',
};

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function tables(): Table[] {
  return [
    new Table({
      name: 'webhook_messages',
      columns: [
        primary(text('id')),
        text('serverId'),
        text('notice'),
        bigint('createdAt'),
        bigint('dueAt'),
        integer('tries'),
      ],
      indices: [{ columnNames: ['serverId', 'id'] }, { columnNames: ['dueAt'] }],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'tps_incidents',
      columns: [primary(text('serverId')), bigint('openedAt')],
      foreignKeys: [{ ...ofServer }],
    }),
  ];
}
