import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** Tokens of device grants whose answer may be lost, encrypted, for a minute. */
export class SealedTokens1796702400000 implements MigrationInterface {
  name = 'SealedTokens1796702400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({ name: 'sealed_tokens', columns: [primary(text('grantId')), text('sealed'), bigint('at')] }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('sealed_tokens');
  }
}
