/** Machines prove that they are the ones that enrolled, and nodes that were deleted stay deleted. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122030000_returning extends Migration {
  override up(): void {
    // Null: enrolled by an agent that sends none yet.
    this.addSql(`alter table "node" add column "machine_secret_hash" bytea null`);
    this.addSql(
      `create table "deleted_node" ("id" uuid primary key, "token_hash" bytea not null, "deleted_at" timestamptz(3) not null)`,
    );
    this.addSql(`create index "deleted_node_token" on "deleted_node" ("token_hash")`);
  }
}
