import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, boolean, integer, nullable, primary, text } from './column-types.ts';

/** Backups, how many are kept, and the jobs that restore them. */
export class Backups1795737600000 implements MigrationInterface {
  name = 'Backups1795737600000';

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
  const server = () => primary(text('serverId'));
  return [
    new Table({
      name: 'backups',
      columns: [
        server(),
        primary(text('id')),
        text('kind'),
        text('state'),
        bigint('createdAt'),
        nullable(bigint('finishedAt')),
        bigint('sizeBytes'),
        bigint('treeBytes'),
        text('sha256'),
        boolean('locked'),
        text('error'),
        text('type'),
        text('version'),
        text('modpackPlatform'),
        text('modpackRef'),
        text('modpackVersion'),
        text('levelName'),
      ],
      indices: [{ columnNames: ['state'] }],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'backup_retention',
      columns: [server(), ...['keepLast', 'hourly', 'daily', 'weekly', 'monthly'].map(integer)],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'saving_off',
      columns: [server(), bigint('at')],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'maintenance',
      columns: [server(), text('jobId'), text('kind'), text('target'), text('step')],
      foreignKeys: [{ ...ofServer }],
    }),
  ];
}
