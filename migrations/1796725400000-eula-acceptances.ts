import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** Accounts for which somebody has agreed to Mojang's EULA. Nobody has by having run a server of an earlier release. */
export class EulaAcceptances1796725400000 implements MigrationInterface {
  name = 'EulaAcceptances1796725400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'eula_acceptances',
        columns: [primary(text('accountId')), text('userId'), text('url'), bigint('acceptedAt')],
        foreignKeys: [
          { columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] },
          { columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('eula_acceptances');
  }
}
