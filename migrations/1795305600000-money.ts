import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, integer, nullable, primary, text } from './column-types.ts';

/** Wallets, the ledger, awake sessions with their ticks, limits of accounts, and checkouts. */
export class Money1795305600000 implements MigrationInterface {
  name = 'Money1795305600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables()) await runner.createTable(table);
    // Accounts from before there were wallets start with an empty one.
    await runner.query(`INSERT INTO "wallets" ("accountId", "balanceMicros", "spendCapMicros", "spendCapAction",
        "spentMonth", "spentMicros", "capNotifiedMonth", "createdAt")
      SELECT "id", 0, 0, 'notify', '', 0, '', "createdAt" FROM "accounts"`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables().toReversed()) await runner.dropTable(table.name);
  }
}

const ofAccount = { columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] };

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function tables(): Table[] {
  return [
    new Table({
      name: 'wallets',
      columns: [
        primary(text('accountId')),
        bigint('balanceMicros'),
        bigint('spendCapMicros'),
        text('spendCapAction'),
        text('spentMonth'),
        bigint('spentMicros'),
        text('capNotifiedMonth'),
        bigint('createdAt'),
      ],
      foreignKeys: [{ ...ofAccount }],
    }),
    new Table({
      name: 'ledger',
      columns: [
        primary(bigint('id')),
        text('accountId'),
        text('serverId'),
        text('kind'),
        bigint('amountMicros'),
        text('note'),
        text('ref'),
        bigint('ts'),
        nullable(bigint('closedAt')),
      ],
      uniques: [{ columnNames: ['kind', 'ref'] }],
      indices: [{ columnNames: ['accountId', 'id'] }],
      foreignKeys: [{ ...ofAccount }],
    }),
    new Table({
      name: 'awake_sessions',
      columns: [
        primary(text('id')),
        text('serverId'),
        text('accountId'),
        text('cause'),
        text('plan'),
        integer('ramMb'),
        bigint('rateMicros'),
        bigint('startedAt'),
        nullable(bigint('readyAt')),
        nullable(bigint('endedAt')),
        text('ending'),
        integer('billable'),
        bigint('provenAt'),
        bigint('awakeMs'),
        integer('ticks'),
        integer('remainder'),
        bigint('amountMicros'),
      ],
      indices: [{ columnNames: ['serverId', 'startedAt'] }, { columnNames: ['endedAt'] }],
      foreignKeys: [{ ...ofAccount }],
    }),
    new Table({
      name: 'ticks',
      columns: [
        primary(text('serverId')),
        primary(text('sessionId')),
        primary(integer('n')),
        integer('ramMb'),
        bigint('rateMicros'),
        bigint('amountMicros'),
        bigint('at'),
      ],
      indices: [{ columnNames: ['at'] }],
    }),
    new Table({
      name: 'account_limits',
      columns: [primary(text('accountId')), nullable(integer('maxServers')), nullable(integer('maxRamMb'))],
      foreignKeys: [{ ...ofAccount }],
    }),
    new Table({
      name: 'checkouts',
      columns: [
        primary(text('id')),
        text('accountId'),
        text('provider'),
        integer('amountUsd'),
        bigint('amountMicros'),
        text('state'),
        nullable(text('providerRef')),
        bigint('createdAt'),
        nullable(bigint('paidAt')),
      ],
      uniques: [{ columnNames: ['providerRef'] }],
      indices: [{ columnNames: ['accountId'] }],
      foreignKeys: [{ ...ofAccount }],
    }),
  ];
}
