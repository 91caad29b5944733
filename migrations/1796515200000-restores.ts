import { type MigrationInterface, type QueryRunner, Table, TableColumn } from 'typeorm';
import { nullable, primary, text } from './column-types.ts';

/** The mods that servers had when their backups were made, and how restored files lay when they were put in place. */
export class Restores1796515200000 implements MigrationInterface {
  name = 'Restores1796515200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.addColumn('backups', new TableColumn(nullable(text('replacedBy'))));
    await runner.createTable(
      new Table({
        name: 'backup_mods',
        columns: [primary(text('serverId')), primary(text('backupId')), text('mods')],
        foreignKeys: [
          {
            columnNames: ['serverId', 'backupId'],
            referencedTableName: 'backups',
            referencedColumnNames: ['serverId', 'id'],
            onDelete: 'CASCADE',
          },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('backup_mods');
    await runner.dropColumn('backups', 'replacedBy');
  }
}
