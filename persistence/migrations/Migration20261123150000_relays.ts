/** The relay inside the admin of a name, for the one map that all agents are told. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123150000_relays extends Migration {
  override up(): void {
    this.addSql(`alter table "admin_identity" add column "relay" jsonb null`);
  }
}
