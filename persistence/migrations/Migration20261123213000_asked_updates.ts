/** When the agent of a node was asked to update: whoever owns the node later asks it again, and refuses nothing. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123213000_asked_updates extends Migration {
  override up(): void {
    this.addSql(`alter table "self_update_node" add column "asked_at" timestamptz(3) null`);
  }
}
