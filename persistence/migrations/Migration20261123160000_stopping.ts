/** Since when an admin stops: it is there still, and is given nothing. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123160000_stopping extends Migration {
  override up(): void {
    this.addSql(`alter table "admin" add column "stopping_since" timestamptz(3) null`);
  }
}
