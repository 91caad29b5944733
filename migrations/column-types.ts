import type { TableColumnOptions } from 'typeorm';

type Column = Pick<TableColumnOptions, 'name' | 'type'>;

/** Text of any length; JSON too. */
export function text(name: string): Column {
  return { name, type: 'text' };
}

/** A small whole number (32 bits). */
export function integer(name: string): Column {
  return { name, type: 'integer' };
}

/** An instant in epoch ms, micros, or a sequence number (64 bits, of which JavaScript uses 53). */
export function bigint(name: string): Column {
  return { name, type: 'bigint' };
}

export function boolean(name: string): Column {
  return { name, type: 'boolean' };
}

export function nullable(column: Column): TableColumnOptions {
  return { ...column, isNullable: true };
}

export function primary(column: Column): TableColumnOptions {
  return { ...column, isPrimary: true };
}
