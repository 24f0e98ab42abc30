/** Facts and labels of nodes, groups of them, and versions in order. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123040000_labels extends Migration {
  override up(): void {
    // Apart from the node's own row, which is written again and again: what is read whole by every selector stays
    // narrow. Source: docs/decisions/labels.md.
    this.addSql(
      `create table "node_labels" ("node_id" uuid primary key constraint "node_labels_node_id_foreign" references "node" ("id") on delete cascade, "labels" jsonb not null)`,
    );
    this.addSql(`create index "node_labels_labels" on "node_labels" using gin ("labels")`);
    this.addSql(`insert into "node_labels" ("node_id", "labels") select "id", '{}' from "node"`);
    // Every node has a row, also one that an admin of the version before enrols: a selector may ask for what is absent.
    this.addSql(`create function "label_nodes"() returns trigger language plpgsql as $$ begin
      insert into node_labels (node_id, labels) select id, '{}' from changed; return null; end $$`);
    this.addSql(
      `create trigger "node_labelled" after insert on "node" referencing new table as changed for each statement execute function "label_nodes"()`,
    );

    this.addSql(
      `create table "node_facts" ("node_id" uuid primary key constraint "node_facts_node_id_foreign" references "node" ("id") on delete cascade, "facts" jsonb not null)`,
    );
    for (const fact of ['hostname', 'os', 'arch'])
      this.addSql(`create index "node_facts_${fact}" on "node_facts" (("facts" ->> '${fact}'), "node_id")`);

    this.addSql(`alter table "enrollment_key" add column "labels" jsonb not null default '{}'`);

    this.addSql(`create table "node_group" (
      "id" uuid primary key, "name" text not null constraint "node_group_name_taken" unique, "description" text null, "targeting" jsonb not null,
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null)`);

    // Few versions and many nodes: each is compared once.
    this.addSql(`create index "node_version" on "node" ("version")`);
    // As actors/version-order.ts does it; a test holds the two equal.
    this.addSql(`create function "version_order_part"(identifier text) returns text language sql immutable strict parallel safe as $$
      select case when identifier ~ '^[0-9]+$' then lpad(length(digits)::text, 2, '0') || digits else '~' || identifier end
      from (select coalesce(nullif(ltrim(identifier, '0'), ''), '0') as digits) as bare $$`);
    this.addSql(`create function "version_order"(version text) returns text language sql immutable strict parallel safe as $$
      select (select string_agg(version_order_part(one), ' ' order by place) from regexp_split_to_table(regexp_replace(release, '(\\.0+)+$', ''), '\\.') with ordinality as v(one, place))
        || case when dash = 0 then chr(2) else chr(1) || (select string_agg(version_order_part(one), ' ' order by place) from regexp_split_to_table(substr(bare, dash + 1), '\\.') with ordinality as v(one, place)) end
      from (select bare, strpos(bare, '-') as dash, case when strpos(bare, '-') = 0 then bare else left(bare, strpos(bare, '-') - 1) end as release
        from (select regexp_replace(split_part(version, '+', 1), '^[vV]', '') as bare) as plain) as parts $$`);
  }
}
