import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, nullable, primary, text } from './column-types.ts';

/** Public keys that people sign in to SFTP with. */
export class SshKeys1796698800000 implements MigrationInterface {
  name = 'SshKeys1796698800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'ssh_keys',
        columns: [
          primary(text('id')),
          text('userId'),
          text('name'),
          text('type'),
          text('fingerprint'),
          bigint('createdAt'),
          nullable(bigint('lastUsedAt')),
        ],
        uniques: [{ columnNames: ['userId', 'fingerprint'] }],
        foreignKeys: [{ columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('ssh_keys');
  }
}
