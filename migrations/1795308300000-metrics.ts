import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** What servers needed, minute by minute, and how they failed. */
export class Metrics1795308300000 implements MigrationInterface {
  name = 'Metrics1795308300000';

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
      name: 'metric_samples',
      columns: [primary(text('serverId')), primary(bigint('at')), text('figures')],
      indices: [{ columnNames: ['at'] }],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'diagnostics',
      columns: [
        primary(text('serverId')),
        primary(bigint('seq')),
        bigint('at'),
        text('kind'),
        text('code'),
        text('summary'),
        text('suggestion'),
        text('evidence'),
      ],
      foreignKeys: [{ ...ofServer }],
    }),
  ];
}
