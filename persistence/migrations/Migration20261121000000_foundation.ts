/** The foundation: clusters, keys, nodes, aliases, commands, executions, events, ownership, idempotency. */
import { Migration } from '@mikro-orm/migrations';

const CLUSTER_NAME = `'^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$'`;
const ALIAS_NAME = `'^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'`;

export class Migration20261121000000_foundation extends Migration {
  override up(): void {
    this.#admins();
    this.#clusters();
    this.#enrollmentKeys();
    this.#nodes();
    this.#commands();
    this.#executions();
    this.#executionEdges();
    this.#outputParts();
    this.#events();
    this.#idempotencyKeys();
    this.#secretCheck();
    this.#rowCounts();
  }

  #admins(): void {
    this.addSql(`create table "admin" (
      "id" uuid primary key, "name" text not null constraint "admin_name_unique" unique, "url" text not null, "admin_cluster_name" text not null, "version" text not null,
      "max_wireguard_peers" int not null check ("max_wireguard_peers" > 0), "started_at" timestamptz(3) not null, "last_checked_in" timestamptz(3) not null)`);
  }

  #clusters(): void {
    this.addSql(`create table "cluster" (
      "id" uuid primary key, "name" text not null constraint "cluster_name_taken" unique check ("name" ~ ${CLUSTER_NAME} and "name" <> 'default'),
      "ipv4_range" cidr not null, "ipv6_range" cidr not null, "node_limit" int null check ("node_limit" > 0), "node_count" int not null default 0 check ("node_count" >= 0),
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "cluster_ipv4_overlap" exclude using gist ("ipv4_range" inet_ops with &&),
      constraint "cluster_ipv6_overlap" exclude using gist ("ipv6_range" inet_ops with &&))`);
    this.addSql(`create index "cluster_newest" on "cluster" ("inserted_at", "id")`);

    this.addSql(`create table "cluster_ownership" (
      "cluster_id" uuid primary key constraint "cluster_ownership_cluster_id_foreign" references "cluster" ("id") on delete cascade, "admin_id" uuid null, "epoch" bigint not null, "lease_until" timestamptz(3) not null)`);
  }

  #enrollmentKeys(): void {
    this.addSql(`create table "enrollment_key" (
      "id" uuid primary key, "cluster_id" uuid not null constraint "enrollment_key_cluster_id_foreign" references "cluster" ("id") on delete cascade, "name" text null, "nonce_hash" bytea not null constraint "enrollment_key_nonce_hash_unique" unique, "sealed_key" text not null,
      "expired_at" timestamptz(3) null, "uses_remaining" int null check ("uses_remaining" >= 0), "last_used_at" timestamptz(3) null,
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null)`);
    this.addSql(`create index "enrollment_key_of_cluster" on "enrollment_key" ("cluster_id")`);
  }

  #nodes(): void {
    this.addSql(`create table "node" (
      "id" uuid primary key, "cluster_id" uuid not null constraint "node_cluster_id_foreign" references "cluster" ("id"), "enrollment_key_id" uuid null constraint "node_enrollment_key_id_foreign" references "enrollment_key" ("id") on delete set null,
      "status" text not null check ("status" in ('healthy', 'unhealthy', 'unreachable')), "version" text not null, "id_type" text not null check ("id_type" in ('persistent', 'random')),
      "http_port" int not null, "ssh_port" int not null, "host_metrics_port" int not null, "wireguard_metrics_port" int not null, "http_proxy_port" int not null, "socks5_proxy_port" int not null,
      "self_update_enabled" boolean not null, "token_hash" bytea not null constraint "node_token_hash_unique" unique, "sealed_proxy_password" text not null, "wireguard_public_key" text null,
      "last_seen_at" timestamptz(3) null, "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null) with (fillfactor = 70)`);
    this.addSql(`create index "node_of_cluster" on "node" ("cluster_id")`);
    this.addSql(`create index "node_newest" on "node" ("inserted_at", "id")`);
    this.addSql(`create index "node_of_enrollment_key" on "node" ("enrollment_key_id")`);

    this.addSql(`create table "alias" (
      "id" uuid primary key, "node_id" uuid not null constraint "alias_node_id_foreign" references "node" ("id") on delete cascade, "cluster_id" uuid not null constraint "alias_cluster_id_foreign" references "cluster" ("id"), "name" text not null check ("name" ~ ${ALIAS_NAME}),
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, constraint "alias_name_taken" unique ("cluster_id", "name"))`);
    this.addSql(`create index "alias_of_node" on "alias" ("node_id")`);

    this.addSql(`create table "recovery_key" (
      "node_id" uuid primary key constraint "recovery_key_node_id_foreign" references "node" ("id") on delete cascade, "cluster_id" uuid not null constraint "recovery_key_cluster_id_foreign" references "cluster" ("id"), "key_hash" bytea not null, "inserted_at" timestamptz(3) not null)`);
  }

  #commands(): void {
    this.addSql(`create table "command" (
      "id" uuid primary key, "command_text" text not null, "targeting" jsonb not null, "timeout" int null check ("timeout" > 0), "expired_at" timestamptz(3) null,
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null)`);
  }

  /**
   * No foreign keys: the row-by-row check costs 30-50 ms of a 10,000-row fan-out, and a finished execution outlives its
   * node. Both ends are kept by the transactions that create and delete (C1).
   */
  #executions(): void {
    this.addSql(`create table "command_execution" (
      "id" uuid primary key, "command_id" uuid not null, "node_id" uuid not null, "cluster_name" text not null, "target_all" boolean not null,
      "status" text not null default 'pending', "exit_code" int null, "output" text null, "output_truncated" boolean not null default false,
      "expired_at" timestamptz(3) null, "sent_at" timestamptz(3) null, "completed_at" timestamptz(3) null, "cancelled_at" timestamptz(3) null, "cancel_requested_at" timestamptz(3) null,
      "finished_at" timestamptz(3) null, "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "command_execution_once" unique ("command_id", "node_id"),
      constraint "command_execution_shape" check (case "status"
        when 'pending' then "exit_code" is null and "sent_at" is null and "completed_at" is null and "cancelled_at" is null and "finished_at" is null
        when 'sent' then "exit_code" is null and "sent_at" is not null and "completed_at" is null and "cancelled_at" is null and "finished_at" is null
        when 'completed' then "exit_code" is not null and "sent_at" is not null and "completed_at" is not null and "cancelled_at" is null and "finished_at" is not null
        when 'cancelled' then "exit_code" is not null and "completed_at" is null and "cancelled_at" is not null and "finished_at" is not null
        when 'expired' then "exit_code" is null and "completed_at" is null and "cancelled_at" is null and "finished_at" is not null
        when 'dropped' then "completed_at" is null and "cancelled_at" is null and "finished_at" is not null
        else false end)) with (fillfactor = 60)`);
    // Open executions by node: no indexed column changes when one is sent, so that update stays HOT.
    this.addSql(
      `create index "command_execution_open" on "command_execution" ("node_id", "id") where "finished_at" is null`,
    );
    this.addSql(
      `create index "command_execution_expiring" on "command_execution" ("expired_at") where "finished_at" is null and "expired_at" is not null`,
    );
    this.addSql(
      `create index "command_execution_finished" on "command_execution" ("finished_at") where "finished_at" is not null`,
    );
  }

  /** C6: only these edges. The WHEN clause decides in C; the function only raises. */
  #executionEdges(): void {
    this.addSql(`create function "refuse_edge"() returns trigger language plpgsql as $$ begin
      raise exception 'an execution cannot go from % to %', old.status, new.status using errcode = 'check_violation', constraint = 'command_execution_edge'; end $$`);
    this.addSql(`create trigger "command_execution_edge" before update of "status" on "command_execution" for each row
      when (old.status <> new.status and not (
        (old.status = 'pending' and new.status in ('sent', 'completed', 'cancelled', 'expired', 'dropped')) or
        (old.status = 'sent' and new.status in ('completed', 'cancelled', 'expired', 'dropped')))) execute function "refuse_edge"()`);
  }

  #outputParts(): void {
    this.addSql(
      `create table "execution_output_part" ("execution_id" uuid not null, "part" int not null check ("part" >= 0), "text" text not null, primary key ("execution_id", "part"))`,
    );
  }

  /**
   * Ordered by transaction, then sequence: readers stop at the oldest transaction still running, so a late commit is
   * never skipped (V1).
   */
  #events(): void {
    this.addSql(`create table "event" (
      "txid" xid8 not null default pg_current_xact_id(), "seq" bigint generated always as identity, "id" uuid not null, "type" text not null, "subject" uuid not null,
      "time" timestamptz(3) not null, "data" json not null, primary key ("txid", "seq"))`);
  }

  #idempotencyKeys(): void {
    this.addSql(`create table "idempotency_key" (
      "scope" text not null, "key" text not null, "body_hash" text not null, "sealed_answer" text not null, "inserted_at" timestamptz(3) not null default now(), constraint "idempotency_key_used" primary key ("scope", "key"))`);
    this.addSql(`create index "idempotency_key_age" on "idempotency_key" ("inserted_at")`);
  }

  #secretCheck(): void {
    this.addSql(`create table "secret_check" ("name" text primary key, "sealed" text not null)`);
  }

  /**
   * Exact row counts of the long lists without counting a million rows. Sixteen slots a table, so that writers seldom
   * meet. Deletions are counted apart as well, under the table's name with ':deleted': while that stands still, places
   * in the list only move by inserts.
   */
  #rowCounts(): void {
    this.addSql(
      `create table "row_count" ("table_name" text not null, "slot" int not null, "n" bigint not null, primary key ("table_name", "slot")) with (fillfactor = 50)`,
    );
    this.addSql(`create function "count_rows"() returns trigger language plpgsql as $$ declare d bigint; begin
      if tg_op = 'INSERT' then select count(*) into d from changed; else select -count(*) into d from changed; end if;
      if d <> 0 then insert into row_count as c values (tg_table_name, pg_backend_pid() % 16, d) on conflict (table_name, slot) do update set n = c.n + excluded.n; end if;
      if d < 0 then insert into row_count as c values (tg_table_name || ':deleted', pg_backend_pid() % 16, -d) on conflict (table_name, slot) do update set n = c.n + excluded.n; end if;
      return null; end $$`);
    for (const table of ['node', 'command', 'command_execution']) {
      this.addSql(
        `create trigger "${table}_inserted" after insert on "${table}" referencing new table as changed for each statement execute function "count_rows"()`,
      );
      this.addSql(
        `create trigger "${table}_deleted" after delete on "${table}" referencing old table as changed for each statement execute function "count_rows"()`,
      );
    }
  }
}
