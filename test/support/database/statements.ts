/** What a database is asked. */
import type { Pool } from 'pg';

/** The same pool, and the texts of the statements that are asked of it by itself from now on, in their order. */
export function recordedStatements(pool: Pool): { readonly pool: Pool; readonly statements: readonly string[] } {
  const statements: string[] = [];
  const recording = new Proxy(pool, {
    get: (real, name) =>
      name === 'query'
        ? (text: string, values: unknown[]) => {
            statements.push(text);
            return real.query(text, values);
          }
        : (Reflect.get(real, name) as unknown),
  });
  return { pool: recording, statements };
}
