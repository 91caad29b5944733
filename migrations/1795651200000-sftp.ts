import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** A user of SFTP for each server that wants one. */
export class Sftp1795651200000 implements MigrationInterface {
  name = 'Sftp1795651200000';

  async up(runner: QueryRunner): Promise<void> {
    const off = runner.connection.options.type === 'postgres' ? 'false' : '(0)';
    // Said in SQL, as the library makes the whole table anew in order to add a column on SQLite.
    await runner.query(`ALTER TABLE "servers" ADD COLUMN "sftpEnabled" boolean NOT NULL DEFAULT ${off}`);
    await runner.createTable(sftpUsers());
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('sftp_users');
    await runner.query('ALTER TABLE "servers" DROP COLUMN "sftpEnabled"');
  }
}

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function sftpUsers(): Table {
  return new Table({
    name: 'sftp_users',
    columns: [primary(text('serverId')), text('username'), text('passwordHash'), bigint('changedAt')],
    uniques: [{ columnNames: ['username'] }],
    foreignKeys: [
      {
        columnNames: ['serverId'],
        referencedTableName: 'servers',
        referencedColumnNames: ['id'],
        onDelete: 'CASCADE',
      },
    ],
  });
}
