/** The mesh: who is a member of its cluster's network, where the gateways are, and moves that are not finished. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121230000_mesh extends Migration {
  override up(): void {
    // Addresses are made of the cluster's ranges and the index; 1 is the gateway's.
    this.addSql(`create table "mesh_member" (
      "node_id" uuid primary key constraint "mesh_member_node_id_foreign" references "node" ("id") on delete cascade, "cluster_id" uuid not null constraint "mesh_member_cluster_id_foreign" references "cluster" ("id"),
      "host_index" int not null check ("host_index" > 1), "public_key" text not null constraint "mesh_member_public_key_taken" unique, "listen_port" int null, "endpoints" json not null,
      "observed" text null, "is_stable" boolean null, "relay_region" int null, "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      constraint "mesh_member_address" unique ("cluster_id", "host_index"))`);

    // An address that was given back is nobody's for a day: names and firewalls elsewhere may still know it.
    this.addSql(`create table "mesh_released" (
      "cluster_id" uuid not null constraint "mesh_released_cluster_id_foreign" references "cluster" ("id") on delete cascade, "host_index" int not null, "released_at" timestamptz(3) not null, primary key ("cluster_id", "host_index"))`);
    this.addSql(`create function "release_mesh_address"() returns trigger language plpgsql as $$ begin
      insert into mesh_released values (old.cluster_id, old.host_index, clock_timestamp()) on conflict (cluster_id, host_index) do update set released_at = excluded.released_at;
      return null; end $$`);
    this.addSql(
      `create trigger "mesh_member_left" after delete on "mesh_member" for each row execute function "release_mesh_address"()`,
    );
    this.addSql(`create trigger "mesh_member_moved" after update of "cluster_id", "host_index" on "mesh_member" for each row
      when ((old.cluster_id, old.host_index) is distinct from (new.cluster_id, new.host_index)) execute function "release_mesh_address"()`);

    this.addSql(`create table "mesh_gateway" (
      "cluster_id" uuid primary key constraint "mesh_gateway_cluster_id_foreign" references "cluster" ("id") on delete cascade, "admin_id" uuid not null, "epoch" bigint not null, "public_key" text not null,
      "listen_port" int not null, "endpoints" json not null, "relay_region" int null, "updated_at" timestamptz(3) not null)`);
    this.addSql(`create index "mesh_gateway_of_key" on "mesh_gateway" ("public_key")`);

    // Written with the move itself; the steps after it are done by whoever owns the new cluster.
    this.addSql(`create table "mesh_move" (
      "node_id" uuid primary key constraint "mesh_move_node_id_foreign" references "node" ("id") on delete cascade, "from_cluster_id" uuid not null, "from_name" text not null, "to_cluster_id" uuid not null,
      "step" text not null default 'leave' check ("step" in ('leave', 'join', 'names')), "inserted_at" timestamptz(3) not null)`);

    // Whoever owns the cluster reads its network anew.
    this.addSql(`create function "tell_mesh"() returns trigger language plpgsql as $$ begin
      if tg_op <> 'INSERT' then perform pg_notify('edge_mesh', old.cluster_id::text); end if;
      if tg_op <> 'DELETE' then perform pg_notify('edge_mesh', new.cluster_id::text); end if;
      return null; end $$`);
    for (const table of ['mesh_member', 'mesh_gateway', 'alias']) {
      this.addSql(
        `create trigger "${table}_told" after insert or update or delete on "${table}" for each row execute function "tell_mesh"()`,
      );
    }

    // "wireguard_public_key" of "node" is said by this table now. It stays for admins of before, which still write it:
    // see Migration20261122041000_kept_columns.
  }
}
