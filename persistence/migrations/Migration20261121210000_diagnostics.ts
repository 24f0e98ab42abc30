/** The last report of each node on itself. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121210000_diagnostics extends Migration {
  override up(): void {
    // One row a node, that goes with it. "collected_at" is by the clock of the admin that took the report: clocks of
    // machines differ.
    this.addSql(`create table "node_diagnosis" (
      "node_id" uuid primary key, "collected_at" timestamptz(3) not null, "checks" jsonb not null check (octet_length("checks"::text) <= 262144),
      constraint "node_diagnosis_node_id_foreign" foreign key ("node_id") references "node" ("id") on delete cascade)`);
  }
}
