/** The manager of networks: which of its hosts is which node, who reconciles, and what wakes whoever does. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121233000_vpn extends Migration {
  override up(): void {
    // Outlives its node: the host of a node that is gone is removed, and only what was ours once.
    this.addSql(
      `create table "vpn_host" ("node_id" uuid primary key, "host_id" text not null, "inserted_at" timestamptz(3) not null, constraint "vpn_host_taken" unique ("host_id"))`,
    );

    this.addSql(
      `create table "vpn_lease" ("name" text primary key, "admin_id" uuid null, "epoch" bigint not null, "lease_until" timestamptz(3) null)`,
    );

    // Whoever reconciles looks again. Aliases tell of themselves, by edge_mesh.
    this.addSql(
      `create function "tell_vpn"() returns trigger language plpgsql as $$ begin perform pg_notify('edge_vpn', ''); return null; end $$`,
    );
    this.addSql(
      `create trigger "cluster_told" after insert or delete on "cluster" for each statement execute function "tell_vpn"()`,
    );
    this.addSql(
      `create trigger "node_told" after insert or delete or update of "cluster_id" on "node" for each statement execute function "tell_vpn"()`,
    );
    this.addSql(
      `create trigger "mesh_move_told" after insert or update of "to_cluster_id" on "mesh_move" for each statement execute function "tell_vpn"()`,
    );
  }
}
