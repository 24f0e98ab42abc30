/** A delivery that succeeds at its first try is stored once, with what came of it: also what it was answered. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261130120000_direct_deliveries extends Migration {
  override up(): void {
    this.addSql(`alter table "webhook_delivery" add column "last_response_body" text null`);
  }
}
