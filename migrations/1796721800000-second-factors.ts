import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, nullable, primary, text } from './column-types.ts';

/** Users may have a second factor, and recovery codes that stand in for it. */
export class SecondFactors1796721800000 implements MigrationInterface {
  name = 'SecondFactors1796721800000';

  async up(runner: QueryRunner): Promise<void> {
    const foreignKeys = [{ columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] }];
    await runner.createTable(
      new Table({
        name: 'second_factors',
        columns: [primary(text('userId')), text('sealedKey'), nullable(bigint('enabledAt')), bigint('lastStep')],
        foreignKeys,
      }),
    );
    await runner.createTable(
      new Table({ name: 'recovery_codes', columns: [primary(text('userId')), primary(text('hash'))], foreignKeys }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('recovery_codes');
    await runner.dropTable('second_factors');
  }
}
