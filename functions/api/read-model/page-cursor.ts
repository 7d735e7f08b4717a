/** Cursors of lists as text: encoded when a page is given out, and checked before anything is read with them. */

import * as z from 'zod';
import { AppError } from '../../../shared/runtime/errors.ts';

/** Where a list is read, and how much of it. */
export interface PageRequest {
  /** The most items that one page has. */
  readonly limit: number;
  /** From the page before; undefined for the first page. */
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; undefined when there is nothing more at the moment. */
  readonly next: string | undefined;
}

/** The cursor of the feed has at most four kilobytes, any other cursor less than two. */
const CURSOR_CHARACTERS_MAX = 6_000;

export function encodeCursor(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Throws `AppError` `cursor_invalid` when the cursor was cut off, made up, or given out by another list. */
export function decodeCursor<Schema extends z.ZodType>(schema: Schema, cursor: string): z.output<Schema> {
  const parsed = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : schema.safeParse(parseJson(cursor));
  if (parsed?.success === true) return parsed.data;
  throw new AppError('cursor_invalid', 'The cursor is not one that this list gave out; begin without one');
}

export function isCursorFault(error: unknown): boolean {
  return error instanceof AppError && error.code === 'cursor_invalid';
}

function parseJson(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** A position in an index as the table gave it. It must lie in the partition that the list is about. */
export function positionSchema(partitionName: string, partition: string) {
  return z
    .record(z.string(), z.string().max(500))
    .refine((position) => position[partitionName] === partition && Object.keys(position).length <= 5);
}
