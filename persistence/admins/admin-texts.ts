/**
 * Short texts from admin to admin, each on a channel of its own: heard by who listens at this moment, and kept nowhere.
 */
import type { Pool } from 'pg';
import type { Listener } from '../connections/listening.ts';
import { rowsOf, sql } from '../reads/sql.ts';

/** Before the id of an admin, without its dashes: at most 63 characters, as PostgreSQL has it. */
const CHANNEL_PREFIX = 'edge_call_';

/** Those of this admin. */
export function adminTexts(pool: Pool, listener: Pick<Listener, 'hear'>, adminId: string) {
  return {
    async tell(admin: string, texts: readonly string[]): Promise<void> {
      await rowsOf(
        pool,
        'telling another admin',
        sql`select pg_notify(${channelOf(admin)}, t.text) from unnest(${texts as string[]}::text[]) as t(text)`,
      );
    },
    hear: (run: (text: string) => void): void =>
      void listener.hear([channelOf(adminId)], (_, text) => {
        if (text !== null) run(text);
      }),
  };
}

function channelOf(admin: string): string {
  return CHANNEL_PREFIX + admin.replaceAll('-', '');
}
