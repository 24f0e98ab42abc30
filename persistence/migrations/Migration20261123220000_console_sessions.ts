/** Sessions of the console: who signed in with which key, by hashes and proofs only. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123220000_console_sessions extends Migration {
  override up(): void {
    this.addSql(`create table "console_session" (
      "id" uuid primary key, "token_hash" bytea not null, "key_proof" bytea not null, "address" text not null, "user_agent" text not null,
      "inserted_at" timestamptz(3) not null, "last_used_at" timestamptz(3) not null,
      constraint "console_session_token_hash_unique" unique ("token_hash"))`);
  }
}
