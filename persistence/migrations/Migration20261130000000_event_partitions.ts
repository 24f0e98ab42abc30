/**
 * Events lie in partitions by the transaction that stored them: what is kept no longer is dropped with its table, and
 * not deleted row by row. So it is where there were no events yet; a database that has some goes on with one table,
 * since each of them would have to be looked through while nobody writes.
 */
import { Migration } from '@mikro-orm/migrations';

/** Transactions that the first partition is for: some two days of one admin without work. */
const FIRST_TRANSACTIONS = 1_048_576;

export class Migration20261130000000_event_partitions extends Migration {
  override up(): void {
    // A table of the same name and columns takes the place of the one, so that admins of the release before see none.
    // The default partition takes what no other is for.
    this.addSql(`do $$ declare reader record; begin
      if exists (select from event) then return; end if;
      lock table event in access exclusive mode;
      if exists (select from event) then return; end if;
      alter table event rename to event_of_before;
      create sequence event_place;
      create table event (
        "txid" xid8 not null default event_transaction(), "seq" bigint not null default nextval('event_place'), "id" uuid not null, "type" text not null, "subject" uuid not null,
        "time" timestamptz(3) not null, "data" json not null, "stored_at" timestamptz(3) null default now()) partition by range ("txid");
      alter sequence event_place owned by event.seq;
      for reader in select a.grantee::regrole as role, a.privilege_type as may from pg_class c, aclexplode(c.relacl) a where c.oid = 'event_of_before'::regclass and a.grantee not in (0, c.relowner) loop
        execute format('grant %s on event to %s', reader.may, reader.role);
      end loop;
      drop table event_of_before;
      alter table event add constraint event_pkey primary key (txid, seq);
      create index event_of_node on event (subject, txid, seq) where type like 'edge.node.%';
      create trigger event_stored after insert on event for each statement execute function tell_of_events();
      create table event_ahead partition of event default;
      execute format('create table event_before partition of event for values from (minvalue) to (%L)', (event_transaction()::text::bigint + ${FIRST_TRANSACTIONS})::text);
    end $$`);
  }
}
