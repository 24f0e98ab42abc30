/** Which enrolment keys anybody made: they are bounded in number, and deleted when they are over. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122070000_public_keys extends Migration {
  override up(): void {
    // Admins of the version before leave it at its default: keys that they make for anybody stay, as they did.
    this.addSql(`alter table "enrollment_key" add column "is_public" boolean not null default false`);
  }
}
