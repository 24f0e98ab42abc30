/**
 * In which wave of a self-update request a node is. Null: a release before made the request, or an older admin does
 * beside this one.
 */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261129120000_waves extends Migration {
  override up(): void {
    this.addSql(`alter table "self_update_node" add column "wave" int null`);
  }
}
