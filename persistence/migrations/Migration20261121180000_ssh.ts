/** SSH: usernames of nodes and their public keys. */
import { Migration } from '@mikro-orm/migrations';

const SSH_USERNAME = `'^[a-z_][a-z0-9_-]{2,31}$'`;

export class Migration20261121180000_ssh extends Migration {
  override up(): void {
    // Both belong to the node, not to its cluster: they move with it, and go with it. The password is an Argon2id hash.
    this.addSql(`create table "ssh_username" (
      "id" uuid primary key, "node_id" uuid not null constraint "ssh_username_node_id_foreign" references "node" ("id") on delete cascade,
      "username" text not null check ("username" ~ ${SSH_USERNAME}), "password_hash" text null check ("password_hash" like '$argon2id$%'), "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "ssh_username_taken" unique ("node_id", "username"))`);

    // A key is known by the SHA-256 of its blob, as ssh itself knows it: a login finds it by that.
    this.addSql(`create table "ssh_public_key" (
      "id" uuid primary key, "ssh_username_id" uuid not null constraint "ssh_public_key_ssh_username_id_foreign" references "ssh_username" ("id") on delete cascade,
      "key_name" text not null, "public_key" text not null, "fingerprint" text not null check ("fingerprint" like 'SHA256:%'), "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "ssh_public_key_taken" unique ("ssh_username_id", "fingerprint"))`);

    for (const table of ['ssh_username', 'ssh_public_key']) {
      this.addSql(
        `create trigger "${table}_inserted" after insert on "${table}" referencing new table as changed for each statement execute function "count_rows"()`,
      );
      this.addSql(
        `create trigger "${table}_deleted" after delete on "${table}" referencing old table as changed for each statement execute function "count_rows"()`,
      );
    }
  }
}
