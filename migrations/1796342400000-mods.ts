import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, boolean, primary, text } from './column-types.ts';

/** The servers' mods and plugins. */
export class Mods1796342400000 implements MigrationInterface {
  name = 'Mods1796342400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'server_mods',
        columns: [
          primary(text('serverId')),
          primary(text('source')),
          primary(text('projectId')),
          text('slug'),
          text('name'),
          text('versionSpec'),
          boolean('wished'),
          text('versionId'),
          text('versionNumber'),
          text('path'),
          text('urls'),
          bigint('sizeBytes'),
          text('sha512'),
          text('sha1'),
          text('requires'),
        ],
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
    await runner.dropTable('server_mods');
  }
}
