/** Self-update requests, and what became of their nodes. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123170000_self_updates extends Migration {
  override up(): void {
    this.addSql(`create table "self_update_request" (
      "id" uuid primary key, "targeting" jsonb not null, "batch_size" int null check ("batch_size" > 0), "max_failures" int null check ("max_failures" > 0), "health_timeout_ms" int not null check ("health_timeout_ms" > 0),
      "status" text not null default 'pending', "revision" int not null default 0, "total" int not null check ("total" >= 0), "triggered" int null, "failed" int null, "completed_at" timestamptz(3) null,
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "self_update_request_shape" check (case "status"
        when 'pending' then "triggered" is null and "failed" is null and "completed_at" is null
        when 'processing' then "triggered" is null and "failed" is null and "completed_at" is null
        when 'completed' then "triggered" is not null and "failed" is not null and "completed_at" is not null and "triggered" + "failed" <= "total"
        else false end))`);
    this.addSql(
      `create index "self_update_request_open" on "self_update_request" ("id") where "status" <> 'completed'`,
    );
    // No foreign keys, as of executions: a row outlives its node, and is deleted with its request.
    this.addSql(`create table "self_update_node" (
      "request_id" uuid not null, "node_id" uuid not null, "cluster_name" text not null, "state" text not null default 'waiting', "from_version" text null, "to_version" text null, "error" text null,
      "due_at" timestamptz(3) null, "triggered_at" timestamptz(3) null, "judged_at" timestamptz(3) null, "finished_at" timestamptz(3) null, primary key ("request_id", "node_id"),
      constraint "self_update_node_shape" check (case "state"
        when 'waiting' then "due_at" is null and "triggered_at" is null and "finished_at" is null
        when 'due' then "due_at" is not null and "triggered_at" is null and "finished_at" is null
        when 'triggered' then "due_at" is not null and "triggered_at" is not null
        when 'updated' then "triggered_at" is not null and "finished_at" is not null
        when 'rolled_back' then "triggered_at" is not null and "finished_at" is not null
        when 'failed' then "due_at" is not null and "finished_at" is not null
        when 'skipped' then "triggered_at" is null and "finished_at" is not null
        else false end))`);
    this.addSql(`create index "self_update_node_open" on "self_update_node" ("node_id") where "finished_at" is null`);
    this.#edges();
  }

  #edges(): void {
    this.addSql(`create function "refuse_self_update_edge"() returns trigger language plpgsql as $$ begin
      raise exception 'a node of a self-update cannot go from % to %', old.state, new.state using errcode = 'check_violation', constraint = 'self_update_node_edge'; end $$`);
    this.addSql(`create trigger "self_update_node_edge" before update of "state" on "self_update_node" for each row
      when (old.state <> new.state and not (
        (old.state = 'waiting' and new.state in ('due', 'skipped')) or
        (old.state = 'due' and new.state in ('triggered', 'failed', 'skipped')) or
        (old.state = 'triggered' and new.state in ('updated', 'rolled_back', 'failed')) or
        (old.state = 'updated' and new.state in ('rolled_back', 'failed')))) execute function "refuse_self_update_edge"()`);
  }
}
