/**
 * An admin keeps its id over every restart: its entry in the list of admins goes when it stops, its id stays with its
 * name.
 */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122020000_identity extends Migration {
  override up(): void {
    this.addSql(
      `create table "admin_identity" ("name" text primary key, "id" uuid not null, "inserted_at" timestamptz(3) not null)`,
    );
    this.addSql(
      `insert into "admin_identity" ("name", "id", "inserted_at") select "name", "id", clock_timestamp() from "admin"`,
    );
  }
}
