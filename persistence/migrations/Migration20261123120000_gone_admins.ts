/** Since when the admin of a name is gone, so that names that nobody uses any more can be forgotten. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123120000_gone_admins extends Migration {
  override up(): void {
    this.addSql(`alter table "admin_identity" add column "gone_since" timestamptz(3) null`);
    this.addSql(
      `update "admin_identity" i set "gone_since" = clock_timestamp() where not exists (select from "admin" a where a."name" = i."name")`,
    );
    // Also where an admin of the release before leaves, or forgets another one.
    this.addSql(`create function "note_gone_admin"() returns trigger language plpgsql as $$ begin
      update "admin_identity" set "gone_since" = clock_timestamp() where "name" = old."name"; return old; end $$`);
    this.addSql(
      `create trigger "admin_gone" after delete on "admin" for each row execute function "note_gone_admin"()`,
    );
  }
}
