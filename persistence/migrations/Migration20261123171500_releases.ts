/** Releases of agents: signed metadata, and files in chunks. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123171500_releases extends Migration {
  override up(): void {
    this.addSql(`create table "release_metadata" (
      "role" text not null check ("role" in ('root', 'timestamp', 'snapshot', 'targets')), "version" int not null check ("version" > 0), "content" text not null,
      "expires_at" timestamptz(3) not null, "inserted_at" timestamptz(3) not null, primary key ("role", "version"))`);
    this.addSql(
      `create table "release_target" ("path" text primary key, "sha256" text not null, "bytes" int not null check ("bytes" > 0))`,
    );
    this.addSql(`create index "release_target_file" on "release_target" ("sha256")`);
    this.addSql(`create table "release_file" (
      "sha256" text primary key, "bytes" int not null check ("bytes" > 0), "received" int not null check ("received" between 0 and "bytes"),
      "is_complete" boolean not null, "updated_at" timestamptz(3) not null)`);
    this.addSql(
      `create table "release_chunk" ("sha256" text not null, "index" int not null check ("index" >= 0), "content" bytea not null, primary key ("sha256", "index"))`,
    );
    this.addSql(`alter table "release_chunk" alter column "content" set storage external`); // it is compressed already
  }
}
