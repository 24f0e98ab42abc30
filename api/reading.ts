/** Reads as results. */
import type { Page } from './ports.ts';
import { ListTooLong } from '../actors/ports.ts';
import { ok, refuse, type Result } from '../actors/refusal.ts';

/** Source: docs/api.md, Errors. */
export const NOT_FOUND = 'Resource not found';

/** A row that was read, or `not_found` for null. */
export async function found<T>(read: Promise<T | null>): Promise<Result<T>> {
  const row = await read;
  return row === null ? refuse('not_found', NOT_FOUND) : ok(row);
}

/** A page that was read, or which filter is missing where the list is too long without it. */
export async function page<T>(read: Promise<Page<T>>): Promise<Result<Page<T>>> {
  try {
    return ok(await read);
  } catch (error) {
    if (!(error instanceof ListTooLong)) throw error;
    return refuse('bad_request', error.message);
  }
}
