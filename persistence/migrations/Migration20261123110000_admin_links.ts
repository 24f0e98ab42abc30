/** What admins need to know of each other to call each other. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123110000_admin_links extends Migration {
  override up(): void {
    this.addSql(
      `alter table "admin" add column "instance_id" uuid null, add column "peer_url" text null, add column "link_version" int null`,
    );
    this.addSql(
      `alter table "admin_identity" add column "draining_since" timestamptz(3) null, add column "relay_region" int null constraint "admin_identity_relay_region_unique" unique`,
    );
    // An admin of the release before that is started under a name takes the row over and knows none of these columns:
    // what they say is true of the process before it only.
    this.addSql(`create function "forget_admin_link"() returns trigger language plpgsql as $$ begin
      new.instance_id := null; new.peer_url := null; new.link_version := null; return new; end $$`);
    this.addSql(`create trigger "admin_taken_over" before update on "admin" for each row
      when (old.started_at is distinct from new.started_at and old.instance_id is not distinct from new.instance_id) execute function "forget_admin_link"()`);
  }
}
