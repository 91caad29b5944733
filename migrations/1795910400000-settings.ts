import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { boolean, integer, nullable, primary, text } from './column-types.ts';

/** Who may wake a server by joining, and what strangers may see of it. */
export class Settings1795910400000 implements MigrationInterface {
  name = 'Settings1795910400000';

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
      name: 'public_statuses',
      columns: [primary(text('serverId')), nullable(text('slug')), boolean('enabled'), boolean('showAddress')],
      uniques: [{ columnNames: ['slug'] }],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'wake_policies',
      columns: [
        primary(text('serverId')),
        text('mode'),
        integer('maxWakesPerDay'),
        text('asleepMotd'),
        text('maintenanceText'),
      ],
      foreignKeys: [{ ...ofServer }],
    }),
  ];
}
