/**
 * Describes tables for migrations:
 * `table('users', { id: text().primary(), email: text().unique() }).index('name', 'id')`.
 */
import { Table, type TableForeignKeyOptions } from 'typeorm';

type ColumnType = 'text' | 'integer' | 'bigint' | 'boolean';

/** A column without a default. NOT NULL unless `nullable` is called. */
class Column {
  isPrimary = false;
  isNullable = false;
  isUnique = false;
  isIndexed = false;
  reference: Pick<TableForeignKeyOptions, 'referencedTableName' | 'onDelete'> | undefined;

  readonly type: ColumnType;

  constructor(type: ColumnType) {
    this.type = type;
  }

  primary(): this {
    this.isPrimary = true;
    return this;
  }

  nullable(): this {
    this.isNullable = true;
    return this;
  }

  unique(): this {
    this.isUnique = true;
    return this;
  }

  index(): this {
    this.isIndexed = true;
    return this;
  }

  /** References `id` of another table. */
  references(referencedTableName: string, onDelete?: 'CASCADE'): this {
    this.reference = { referencedTableName, ...(onDelete && { onDelete }) };
    return this;
  }
}

/** Text of any length, including JSON. */
export const text = () => new Column('text');
/** A 32-bit integer. */
export const integer = () => new Column('integer');
/** A 64-bit integer: epoch ms, an amount in micros, or a sequence number. JavaScript uses 53 of the bits. */
export const bigint = () => new Column('bigint');
export const boolean = () => new Column('boolean');
/** The id of a server. The row is deleted with the server. */
export const ofServer = () => text().references('servers', 'CASCADE');

/** Returns columns of one type: `all(text, 'ip', 'userAgent')`. */
export function all(column: () => Column, ...names: string[]): Record<string, Column> {
  return Object.fromEntries(names.map((name) => [name, column()]));
}

/** Describes a table with its columns in the given order. */
export function table(name: string, columns: Record<string, Column>): TableBuilder {
  return new TableBuilder(name, columns);
}

class TableBuilder {
  readonly #name: string;
  readonly #columns: [name: string, column: Column][];
  readonly #uniques: string[][];
  readonly #indices: string[][];
  readonly #foreignKeys: TableForeignKeyOptions[];

  constructor(name: string, columns: Record<string, Column>) {
    this.#name = name;
    this.#columns = Object.entries(columns);
    const those = (has: (column: Column) => boolean) =>
      this.#columns.filter(([, column]) => has(column)).map(([column]) => [column]);
    this.#uniques = those(({ isUnique }) => isUnique);
    this.#indices = those(({ isIndexed }) => isIndexed);
    this.#foreignKeys = this.#columns.flatMap(([column, { reference }]) =>
      reference === undefined ? [] : [{ columnNames: [column], referencedColumnNames: ['id'], ...reference }],
    );
  }

  unique(...columnNames: string[]): this {
    this.#uniques.push(columnNames);
    return this;
  }

  index(...columnNames: string[]): this {
    this.#indices.push(columnNames);
    return this;
  }

  /**
   * References columns of another table. `columns` maps each column of this table to one of the other. The row is
   * deleted with the referenced row.
   */
  references(referencedTableName: string, columns: Record<string, string>): this {
    const [columnNames, referencedColumnNames] = [Object.keys(columns), Object.values(columns)];
    this.#foreignKeys.push({ columnNames, referencedTableName, referencedColumnNames, onDelete: 'CASCADE' });
    return this;
  }

  build(): Table {
    return new Table({
      name: this.#name,
      columns: this.#columns.map(([name, { type, isPrimary, isNullable }]) => ({ name, type, isPrimary, isNullable })),
      uniques: this.#uniques.map((columnNames) => ({ columnNames })),
      indices: this.#indices.map((columnNames) => ({ columnNames })),
      foreignKeys: this.#foreignKeys,
    });
  }
}
