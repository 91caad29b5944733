import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { bigint, boolean, integer, nullable, primary, text } from './column-types.ts';

/** Accounts, people and keys; servers and what became of them; what the installation knows of itself. */
export class Initial1795132800000 implements MigrationInterface {
  name = 'Initial1795132800000';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables()) await runner.createTable(table);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables().toReversed()) await runner.dropTable(table.name);
  }
}

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function tables(): Table[] {
  return [
    new Table({
      name: 'accounts',
      columns: [primary(text('id')), text('name'), bigint('createdAt')],
    }),
    new Table({
      name: 'users',
      columns: [
        primary(text('id')),
        text('email'),
        boolean('emailVerified'),
        text('passwordHash'),
        text('accountId'),
        boolean('operator'),
        bigint('createdAt'),
      ],
      uniques: [{ columnNames: ['email'] }],
      indices: [{ columnNames: ['accountId'] }],
      foreignKeys: [{ columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] }],
    }),
    new Table({
      name: 'api_keys',
      columns: [
        primary(text('id')),
        text('hash'),
        text('name'),
        text('last4'),
        text('userId'),
        text('accountId'),
        text('scopes'),
        bigint('createdAt'),
        nullable(bigint('lastUsedAt')),
        nullable(bigint('expiresAt')),
        nullable(bigint('revokedAt')),
      ],
      uniques: [{ columnNames: ['hash'] }],
      indices: [{ columnNames: ['accountId'] }, { columnNames: ['userId'] }],
      foreignKeys: [
        { columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] },
        { columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] },
      ],
    }),
    new Table({
      name: 'servers',
      // The longest texts stand last: a row's further pages are read only for the columns that are on them.
      columns: [
        primary(text('id')),
        text('name'),
        text('hostname'),
        text('accountId'),
        text('container'),
        text('type'),
        text('version'),
        integer('ramMb'),
        text('plan'),
        text('region'),
        text('state'),
        text('motd'),
        text('properties'),
        integer('idleTimeoutMinutes'),
        text('alertWebhookUrl'),
        text('modpackPlatform'),
        text('modpackRef'),
        text('modpackVersion'),
        bigint('createdAt'),
        bigint('updatedAt'),
        text('lastStatus'),
        text('coldStartsMs'),
        text('snapshot'),
      ],
      uniques: [{ columnNames: ['hostname'] }],
      indices: [{ columnNames: ['accountId'] }, { columnNames: ['state', 'id'] }],
      foreignKeys: [{ columnNames: ['accountId'], referencedTableName: 'accounts', referencedColumnNames: ['id'] }],
    }),
    new Table({
      name: 'transitions',
      columns: [
        primary(text('serverId')),
        primary(bigint('seq')),
        bigint('at'),
        text('event'),
        text('from'),
        text('to'),
        text('cause'),
      ],
      foreignKeys: [
        {
          columnNames: ['serverId'],
          referencedTableName: 'servers',
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    }),
    new Table({
      name: 'meta',
      columns: [primary(text('key')), text('value')],
    }),
    new Table({
      name: 'leases',
      columns: [
        primary(text('name')),
        text('token'),
        text('hostname'),
        text('scope'),
        integer('pid'),
        text('startedAt'),
        bigint('expiresAt'),
      ],
    }),
  ];
}
