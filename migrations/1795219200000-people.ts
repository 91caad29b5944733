import { type MigrationInterface, type QueryRunner, Table, TableColumn } from 'typeorm';
import { bigint, nullable, primary, text } from './column-types.ts';

/** Sessions, third-party apps and their tokens, device grants, members of servers, and who did what. */
export class People1795219200000 implements MigrationInterface {
  name = 'People1795219200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables()) await runner.createTable(table);
    await runner.addColumn('api_keys', new TableColumn(nullable(text('serverIds'))));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropColumn('api_keys', 'serverIds');
    for (const table of tables().toReversed()) await runner.dropTable(table.name);
  }
}

const ofUser = { columnNames: ['userId'], referencedTableName: 'users', referencedColumnNames: ['id'] };
const ofClient = { columnNames: ['clientId'], referencedTableName: 'clients', referencedColumnNames: ['id'] };
const ofServer = {
  columnNames: ['serverId'],
  referencedTableName: 'servers',
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE',
};

/** Made anew for each run: creating a table writes the names of its constraints into the description. */
function tables(): Table[] {
  return [
    new Table({
      name: 'sessions',
      columns: [
        primary(text('id')),
        text('userId'),
        bigint('createdAt'),
        bigint('seenAt'),
        bigint('expiresAt'),
        text('ip'),
        text('userAgent'),
      ],
      indices: [{ columnNames: ['userId'] }, { columnNames: ['expiresAt'] }],
      foreignKeys: [{ ...ofUser }],
    }),
    new Table({
      name: 'email_tokens',
      columns: [primary(text('hash')), text('userId'), text('email'), bigint('expiresAt')],
      indices: [{ columnNames: ['userId'] }],
      foreignKeys: [{ ...ofUser }],
    }),
    new Table({
      name: 'clients',
      columns: [
        primary(text('id')),
        text('name'),
        text('homepage'),
        text('scopes'),
        bigint('createdAt'),
        nullable(bigint('disabledAt')),
      ],
    }),
    new Table({
      name: 'grants',
      columns: [
        primary(text('id')),
        text('deviceHash'),
        text('userHmac'),
        nullable(text('clientId')),
        nullable(text('userId')),
        text('ip'),
        text('userAgent'),
        text('state'),
        bigint('createdAt'),
        bigint('expiresAt'),
        text('snapshot'),
      ],
      uniques: [{ columnNames: ['deviceHash'] }, { columnNames: ['userHmac'] }],
      indices: [{ columnNames: ['expiresAt'] }],
    }),
    new Table({
      name: 'grant_starts',
      columns: [primary(text('address')), primary(bigint('at')), primary(bigint('nth'))],
      indices: [{ columnNames: ['at'] }],
    }),
    new Table({
      name: 'app_tokens',
      columns: [
        primary(text('id')),
        text('hash'),
        text('clientId'),
        text('userId'),
        text('scope'),
        bigint('createdAt'),
        nullable(bigint('lastUsedAt')),
        nullable(bigint('revokedAt')),
      ],
      uniques: [{ columnNames: ['hash'] }],
      indices: [{ columnNames: ['userId', 'clientId'] }],
      foreignKeys: [{ ...ofUser }, { ...ofClient }],
    }),
    new Table({
      name: 'members',
      columns: [
        primary(text('id')),
        text('serverId'),
        text('email'),
        nullable(text('userId')),
        text('role'),
        text('invitedBy'),
        bigint('createdAt'),
        nullable(bigint('acceptedAt')),
      ],
      uniques: [{ columnNames: ['serverId', 'email'] }],
      indices: [{ columnNames: ['userId'] }, { columnNames: ['email'] }],
      foreignKeys: [{ ...ofServer }],
    }),
    new Table({
      name: 'audit',
      columns: [
        primary(text('id')),
        text('accountId'),
        text('serverId'),
        text('userId'),
        text('action'),
        text('detail'),
        bigint('createdAt'),
      ],
      indices: [{ columnNames: ['accountId', 'id'] }, { columnNames: ['serverId', 'id'] }],
    }),
  ];
}
