/** Recordings of SSH sessions. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121190000_ssh_recording extends Migration {
  override up(): void {
    // No foreign keys, and the name of the cluster as it was: what was done on a node must be there when the node, its
    // cluster and the user are gone.
    // "content" is the gzipped asciicast, "size_bytes" what it unpacks to.
    this.addSql(`create table "ssh_recording" (
      "id" uuid primary key, "node_id" uuid not null, "cluster_name" text not null, "ssh_username_id" uuid not null, "username" text not null, "command" text null,
      "started_at" timestamptz(3) not null, "duration_ms" int not null check ("duration_ms" >= 0), "width" int not null check ("width" > 0), "height" int not null check ("height" > 0),
      "truncated" boolean not null, "size_bytes" int not null check ("size_bytes" > 0), "content" bytea not null, "inserted_at" timestamptz(3) not null)`);
    this.addSql(`alter table "ssh_recording" alter column "content" set storage external`); // it is compressed already
    this.addSql(`create index "ssh_recording_newest" on "ssh_recording" ("inserted_at", "id")`);
    this.addSql(`create index "ssh_recording_of_node" on "ssh_recording" ("node_id", "inserted_at")`);
    this.addSql(`create index "ssh_recording_of_username" on "ssh_recording" ("username", "inserted_at")`);
    this.addSql(
      `create trigger "ssh_recording_inserted" after insert on "ssh_recording" referencing new table as changed for each statement execute function "count_rows"()`,
    );
    this.addSql(
      `create trigger "ssh_recording_deleted" after delete on "ssh_recording" referencing old table as changed for each statement execute function "count_rows"()`,
    );
  }
}
