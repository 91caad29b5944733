import { EntitySchema } from 'typeorm';
import { exact } from './exact.ts';

/** What a server is made of, kept under a name to make others like it. */
export interface TemplateRow {
  id: string;
  accountId: string;
  name: string;
  description: string;
  motd: string;
  plan: string;
  serverType: string;
  version: string;
  ramMb: number;
  properties: Record<string, string>;
  modpackPlatform: string;
  modpackRef: string;
  modpackVersion: string;
  createdAt: number;
}

const text = { type: 'text' } as const;
const transformer = { to: exact, from: <T>(value: T): T => value };

export const templates = new EntitySchema<TemplateRow>({
  name: 'templates',
  columns: {
    id: { type: 'text', primary: true },
    accountId: text,
    name: text,
    description: text,
    motd: text,
    plan: text,
    serverType: text,
    version: text,
    ramMb: { type: 'integer', transformer },
    properties: { type: 'simple-json' },
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    createdAt: { type: 'bigint', transformer },
  },
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [{ target: 'accounts', columnNames: ['accountId'], referencedColumnNames: ['id'] }],
});
