import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, integer, primary, text } from './column-types.ts';

const TEXTS = [
  'accountId',
  'name',
  'description',
  'motd',
  'plan',
  'serverType',
  'version',
  'properties',
  'modpackPlatform',
  'modpackRef',
  'modpackVersion',
];

/** What servers are made from. */
export class Templates1796169600000 implements MigrationInterface {
  name = 'Templates1796169600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'templates',
        columns: [primary(text('id')), ...TEXTS.map(text), integer('ramMb'), bigint('createdAt')],
        indices: [{ columnNames: ['accountId'] }],
        foreignKeys: [{ columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('templates');
  }
}
