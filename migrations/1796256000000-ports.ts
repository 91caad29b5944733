import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { integer, primary, text } from './column-types.ts';

/** Ports of games beside the one that players join by. */
export class Ports1796256000000 implements MigrationInterface {
  name = 'Ports1796256000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(
      new Table({
        name: 'server_ports',
        columns: [
          primary(integer('hostPort')),
          text('serverId'),
          integer('slot'),
          integer('containerPort'),
          text('proto'),
          text('label'),
        ],
        uniques: [{ columnNames: ['serverId', 'slot'] }, { columnNames: ['serverId', 'containerPort', 'proto'] }],
        foreignKeys: [
          {
            columnNames: ['serverId'],
            referencedTableName: 'servers',
            referencedColumnNames: ['id'],
            onDelete: 'CASCADE',
          },
        ],
      }),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('server_ports');
  }
}
