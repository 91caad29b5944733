import * as z from 'zod';
import { decodeText } from '../kernel/decode-text.ts';
import { StatusError } from '../kernel/status.ts';
import { NOT_ACCESSIBLE } from './errors.ts';
import type { Jail, JailFile, TreeEntry } from './jail.ts';

/** Returns the size of a plain file; undefined if it does not exist. */
export async function sizeIfThere(jail: Jail, path: string): Promise<number | undefined> {
  try {
    const { kind, sizeBytes } = await jail.stat(path);
    return kind === 'file' ? sizeBytes : undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Returns a plain file's text (`decodeText`); undefined without a plain file, or if it has more than `maxBytes`. */
export async function textIfThere(jail: Jail, path: string, maxBytes: number): Promise<string | undefined> {
  try {
    await using file = await jail.open(path);
    const { sizeBytes } = await file.stat();
    return sizeBytes > maxBytes ? undefined : decodeText(await file.read(0, sizeBytes));
  } catch (error) {
    if (isNone(error)) return undefined;
    throw error;
  }
}

/**
 * Returns a plain file's JSON; undefined without a plain file, or if it has more than `maxBytes`, or does not match the
 * schema.
 */
export async function jsonIfThere<Schema extends z.ZodType>(
  jail: Jail,
  path: string,
  schema: Schema,
  maxBytes: number,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.parse(JSON.parse((await textIfThere(jail, path, maxBytes)) ?? ''));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

/**
 * Reports whether an error means that a path does not exist, or is another kind of entry than expected, such as a link.
 */
export function isNone(error: unknown): boolean {
  if (!(error instanceof StatusError) || error.reason === NOT_ACCESSIBLE) return false;
  return error.code === 'NOT_FOUND' || error.code === 'FAILED_PRECONDITION';
}

/** Removes a file, or a folder with its contents, if it exists. */
export async function removeIfThere(jail: Jail, path: string): Promise<void> {
  try {
    await jail.remove(path);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Reports whether an error means that a path, or a folder above it, does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 'NOT_FOUND' || error.reason === 'NOT_A_DIRECTORY');
}

/**
 * Opens an entry found by a walk; undefined if it has been removed, has become another kind of entry, or belongs to the
 * service.
 */
export async function openIfThere(open: TreeEntry['open']): Promise<JailFile | undefined> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StatusError && PASSED_OVER.has(error.reason)) return undefined;
    throw error;
  }
}

const PASSED_OVER = new Set(['PATH_NOT_FOUND', 'PATH_IS_LINK', 'NOT_A_FILE', 'NOT_A_DIRECTORY', 'PATH_PROTECTED']);
