/** Which key seals, which ones did, and which one each admin wants: so that ENCRYPTION_KEY can be rotated. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123210000_encryption_keys extends Migration {
  override up(): void {
    this.addSql(
      `create table "encryption_key" ("id" text primary key, "sealing_since" timestamptz(3) not null, "replaced_at" timestamptz(3) null, "retired_at" timestamptz(3) null)`,
    );
    this.addSql(`create unique index "encryption_key_sealing" on "encryption_key" ((1)) where "replaced_at" is null`);
    this.addSql(
      `create table "encryption_key_wish" ("instance_id" uuid primary key, "key_id" text not null, "inserted_at" timestamptz(3) not null)`,
    );
  }
}
