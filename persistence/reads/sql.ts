/** Pieces of SQL that carry their parameters, so that a statement is put together from conditions without ever quoting a value by hand. */
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { asUnavailable } from '../availability.ts';

/** A piece of SQL: `texts` has one more element than `values`. */
export interface Sql {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
}

const PIECES = new WeakSet<Sql>();

/** A piece of SQL from a template. A piece inside is spliced in; anything else becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  const texts = [strings[0] ?? ''];
  const values: unknown[] = [];
  const extend = (text: string): void => { texts.push((texts.pop() ?? '') + text); };
  parts.forEach((part, index) => {
    if (isPiece(part)) {
      extend(part.texts[0] ?? '');
      part.values.forEach((value, at) => { values.push(value); texts.push(part.texts[at + 1] ?? ''); });
    } else {
      values.push(part);
      texts.push('');
    }
    extend(strings[index + 1] ?? '');
  });
  return piece(texts, values);
}

/** Pieces side by side. */
export function join(pieces: readonly Sql[], separator: Sql): Sql {
  return pieces.length === 0 ? sql`` : pieces.reduce((left, right) => sql`${left}${separator}${right}`);
}

/** Runs a statement; a database that is lost or too slow comes out as DatabaseUnavailable. `doing` says what for. */
export async function rowsOf<R extends QueryResultRow>(client: Pool | PoolClient, doing: string, { texts, values }: Sql): Promise<R[]> {
  try {
    const text = texts.reduce((left, right, index) => `${left}$${index}${right}`);
    return (await client.query<R>(text, [...values])).rows;
  } catch (error) {
    throw asUnavailable(error, doing);
  }
}

function piece(texts: readonly string[], values: readonly unknown[]): Sql {
  const made = { texts, values };
  PIECES.add(made);
  return made;
}

function isPiece(part: unknown): part is Sql {
  return typeof part === 'object' && part !== null && PIECES.has(part as Sql);
}
