/** What does not work at an admin, as its process said with its last check-in, for all admins to read. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261129130000_admin_problems extends Migration {
  override up(): void {
    this.addSql(`alter table "admin" add column "problems" jsonb null`);
  }
}
