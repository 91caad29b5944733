import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** From where people have signed in before. */
export class SignInPlaces1796695200000 implements MigrationInterface {
  name = 'SignInPlaces1796695200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'sign_in_places',
        columns: [primary(text('userId')), primary(text('place')), bigint('seenAt')],
        foreignKeys: [{ columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] }],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('sign_in_places');
  }
}
