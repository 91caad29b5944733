import { type MigrationInterface, type QueryRunner, TableColumn } from 'typeorm';
import { text } from './column-types.ts';

/** Everything that was found of a failure; of earlier ones only the first is known. */
export class Insights1796601600000 implements MigrationInterface {
  name = 'Insights1796601600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.addColumn('diagnostics', new TableColumn({ ...text('insights'), default: "'[]'" }));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropColumn('diagnostics', 'insights');
  }
}
