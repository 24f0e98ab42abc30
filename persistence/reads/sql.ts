/**
 * Pieces of SQL that carry their parameters, so that a statement is put together from conditions without ever quoting a
 * value by hand.
 */
import type { Pool, ClientBase, QueryResultRow } from 'pg';
import { asUnavailable } from '../connections/availability.ts';

/** A piece of SQL: `texts` has one more element than `values`. */
export interface Sql {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
}

/**
 * Known by its class, which nothing that came from outside can have. A WeakSet of all pieces grew by a megabyte in
 * minutes.
 */
class Piece implements Sql {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.texts = texts;
    this.values = values;
  }
}

/** A piece of SQL from a template. A piece inside is spliced in; anything else becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  const texts = [strings[0] ?? ''];
  const values: unknown[] = [];
  const extend = (text: string): void => {
    texts.push((texts.pop() ?? '') + text);
  };
  parts.forEach((part, index) => {
    if (part instanceof Piece) {
      extend(part.texts[0] ?? '');
      part.values.forEach((value, at) => {
        values.push(value);
        texts.push(part.texts[at + 1] ?? '');
      });
    } else {
      values.push(part);
      texts.push('');
    }
    extend(strings[index + 1] ?? '');
  });
  return new Piece(texts, values);
}

/** Pieces side by side. */
export function join(pieces: readonly Sql[], separator: Sql): Sql {
  return pieces.length === 0 ? sql`` : pieces.reduce((left, right) => sql`${left}${separator}${right}`);
}

/** Runs a statement; a database that is lost or too slow comes out as DatabaseUnavailable. `doing` says what for. */
export async function rowsOf<R extends QueryResultRow>(
  client: Pool | ClientBase,
  doing: string,
  { texts, values }: Sql,
): Promise<R[]> {
  try {
    const text = texts.reduce((left, right, index) => `${left}$${index}${right}`);
    return (await client.query<R>(text, [...values])).rows;
  } catch (error) {
    throw asUnavailable(error, doing);
  }
}
