import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, nullable, primary, text } from './column-types.ts';

/** What servers take of the disk and may take, and which of them operators have suspended. */
export class Quota1795824000000 implements MigrationInterface {
  name = 'Quota1795824000000';

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
      name: 'server_disks',
      columns: [
        primary(text('serverId')),
        bigint('quotaOverrideMb'),
        nullable(bigint('realBytes')),
        nullable(bigint('logicalBytes')),
        nullable(bigint('measuredAt')),
      ],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'suspensions',
      columns: [primary(text('serverId')), text('reason'), text('userId'), bigint('at')],
      foreignKeys: [{ ...ofServer }],
    }),
  ];
}
