import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** Backups lie in the folder or off site, as they are or encrypted. */
export class BackupsOffSite1796727200000 implements MigrationInterface {
  name = 'BackupsOffSite1796727200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of COLUMNS)
      await runner.query(`ALTER TABLE "backups" ADD COLUMN "${column}" text NOT NULL DEFAULT ''`);
    for (const table of tables()) await runner.createTable(table);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables().toReversed()) await runner.dropTable(table.name);
    for (const column of COLUMNS) await runner.query(`ALTER TABLE "backups" DROP COLUMN "${column}"`);
  }
}

const COLUMNS = ['location', 'sealedBy'];

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function tables(): Table[] {
  return [
    new Table({
      name: 'backup_uploads',
      columns: [
        primary(text('serverId')),
        primary(text('backupId')),
        text('location'),
        text('uploadId'),
        bigint('partBytes'),
        bigint('at'),
      ],
      foreignKeys: [
        {
          columnNames: ['serverId', 'backupId'],
          referencedTableName: 'backups',
          referencedColumnNames: ['serverId', 'id'],
          onDelete: 'CASCADE',
        },
      ],
    }),
    new Table({
      name: 'offsite_removals',
      columns: [primary(text('location')), primary(text('serverId')), primary(text('backupId')), bigint('at')],
    }),
  ];
}
