/** Since when a cluster has its owner under its epoch. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123140000_owned_since extends Migration {
  override up(): void {
    // Null: owned since before this was noted.
    this.addSql(`alter table "cluster_ownership" add column "owned_since" timestamptz(3) null`);
    // By the database, so that it is right whichever version of an admin takes a cluster.
    this.addSql(`create function "note_owned_since"() returns trigger language plpgsql as $$ begin
      new.owned_since := clock_timestamp(); return new; end $$`);
    this.addSql(
      `create trigger "cluster_owned" before insert on "cluster_ownership" for each row execute function "note_owned_since"()`,
    );
    this.addSql(`create trigger "cluster_owned_anew" before update on "cluster_ownership" for each row
      when (old.epoch is distinct from new.epoch) execute function "note_owned_since"()`);
  }
}
