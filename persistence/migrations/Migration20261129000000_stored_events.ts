/**
 * When an event was stored: what is kept and published for so long counts from then, since an event may tell of what
 * happened long before. Those that are there already have the time of what they tell of, and no row is written anew.
 */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261129000000_stored_events extends Migration {
  override up(): void {
    this.addSql(`alter table "event" add column "stored_at" timestamptz(3) null`);
    this.addSql(`alter table "event" alter column "stored_at" set default now()`);
  }
}
