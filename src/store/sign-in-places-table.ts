import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** A device or a network that a user has signed in from. */
export interface SignInPlaceRow {
  userId: string;
  /** SHA-256 of what it is, hex. */
  place: string;
  /** Of the latest sign-in. */
  seenAt: number;
}

const text: EntitySchemaColumnOptions = { type: 'text' };

export const signInPlaces = new EntitySchema<SignInPlaceRow>({
  name: 'sign_in_places',
  columns: {
    userId: { ...text, primary: true },
    place: { ...text, primary: true },
    seenAt: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }],
});
