import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, primary, text } from './column-types.ts';

/** Addresses that operators have let make an account; and letters whose links do more than confirm an address. */
export class AccountInvitations1796723600000 implements MigrationInterface {
  name = 'AccountInvitations1796723600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'account_invitations',
        columns: [
          primary(text('id')),
          text('hash'),
          text('email'),
          text('invitedBy'),
          bigint('createdAt'),
          bigint('expiresAt'),
        ],
        uniques: [{ columnNames: ['hash'] }, { columnNames: ['email'] }],
      }),
    );
    await runner.query(`ALTER TABLE "email_tokens" ADD COLUMN "purpose" text NOT NULL DEFAULT 'verify'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE "email_tokens" DROP COLUMN "purpose"');
    await runner.dropTable('account_invitations');
  }
}
