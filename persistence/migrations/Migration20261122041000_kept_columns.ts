/**
 * A column that admins of the version before still write is there again, where the migration to the mesh had dropped
 * it.
 */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122041000_kept_columns extends Migration {
  override up(): void {
    // Expand first, contract a release later: nothing reads it any more, and a later release drops it.
    this.addSql(`alter table "node" add column if not exists "wireguard_public_key" text null`);
  }
}
