import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/**
 * Checks numbers in queries, because a query builder for SQLite writes them into the SQL itself, past the check of
 * parameters.
 */
export const transformer = { to: exact, from: <T>(value: T): T => value };

export const text: EntitySchemaColumnOptions = { type: 'text' };
export const maybeText: EntitySchemaColumnOptions = { ...text, nullable: true };
/** Part of the primary key. */
export const id: EntitySchemaColumnOptions = { type: 'text', primary: true };
export const integer: EntitySchemaColumnOptions = { type: 'integer', transformer };
export const maybeInteger: EntitySchemaColumnOptions = { ...integer, nullable: true };
export const bigint: EntitySchemaColumnOptions = { type: 'bigint', transformer };
export const boolean: EntitySchemaColumnOptions = { type: 'boolean' };
/** Stored as text; a row holds the value itself. */
export const json: EntitySchemaColumnOptions = { type: 'simple-json' };
export const maybeJson: EntitySchemaColumnOptions = { ...json, nullable: true };
/** An instant, in epoch ms, or none. */
export const maybeAt: EntitySchemaColumnOptions = { ...bigint, nullable: true };

export const ofAccount = { target: 'accounts', columnNames: ['accountId'], referencedColumnNames: ['id'] };
export const ofUser = { target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] };
/** Foreign key of rows that are deleted with their server. */
export const ofServer = {
  target: 'servers',
  columnNames: ['serverId'],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
};
