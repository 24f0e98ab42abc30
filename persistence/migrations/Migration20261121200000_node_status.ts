/** Nodes say since when they have their status, and why. */
import { Migration } from '@mikro-orm/migrations';

const HEARD = `'Nothing heard since ' || to_char("last_seen_at" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export class Migration20261121200000_node_status extends Migration {
  override up(): void {
    this.addSql(
      `alter table "node" add column "status_since" timestamptz(3) null, add column "status_reason" text null, add column "status_detail" jsonb null`,
    );
    // What is known of nodes from before: agents that are there say more when they connect again.
    this.addSql(
      `update "node" set "status_since" = "updated_at", "status_reason" = case when "status" <> 'unreachable' then null when "last_seen_at" is null then 'It has not connected yet' else ${HEARD} end`,
    );
    // The default is for admins of before that still run while others are replaced: they enrol nodes without knowing of
    // it.
    this.addSql(
      `alter table "node" alter column "status_since" set not null, alter column "status_since" set default now()`,
    );
  }
}
