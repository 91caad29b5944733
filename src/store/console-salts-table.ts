import { EntitySchema } from 'typeorm';

/** What makes the console's password of a server's newest start. */
export interface ConsoleSaltRow {
  serverId: string;
  salt: string;
}

export const consoleSalts = new EntitySchema<ConsoleSaltRow>({
  name: 'console_salts',
  columns: { serverId: { type: 'text', primary: true }, salt: { type: 'text' } },
  foreignKeys: [
    { target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' as const },
  ],
});
