/**
 * The order of events goes on when the database is restored into another server, or set back: ids of transactions are
 * counted from a base of each incarnation.
 */
import { Migration } from '@mikro-orm/migrations';

/**
 * Ids that an incarnation has between its first and whatever it began above: transactions that run at once may have
 * lower numbers than the one that began it, by less than PostgreSQL can tell apart (2^31).
 */
const GAP = '2147483648';

/**
 * Milliseconds since 2020 times 2^22: a later incarnation lies above all ids that an earlier one gave, also after the
 * dump was made, unless that had four million transactions a millisecond. Enough until 2089.
 */
const FROM_THE_CLOCK = `((extract(epoch from clock_timestamp()) * 1000)::bigint - 1577836800000) << 22`;

export class Migration20261122040000_incarnation extends Migration {
  override up(): void {
    // Which server this is, and since when its history is its own: the identity that initdb gave it, and the timeline,
    // which a promotion raises.
    // A server that keeps its identity from this user is taken for one that never changes; the start of an admin still
    // compares ids.
    this.addSql(`create function "database_server"() returns text language plpgsql volatile as $$ begin
      if not has_function_privilege('pg_control_system()', 'execute') then return 'unknown'; end if;
      return (select system_identifier from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8); end $$`);

    // One row. "xid_base" is added to the number of a transaction for its id in the order of events.
    this.addSql(`create table "database_incarnation" (
      "name" text primary key check ("name" = 'this'), "number" int not null, "server" text not null, "xid_base" bigint not null, "began_at" timestamptz(3) not null)`);

    // The id of this transaction in the order of events. The first one in another server than the row names begins an
    // incarnation: none that
    // began before can still be running there, so nothing is ordered by the former base any more. Others wait for the
    // row.
    this.addSql(`create function "event_transaction"() returns xid8 language plpgsql volatile as $$ declare base bigint; begin
      select xid_base into base from database_incarnation where server = database_server();
      if base is null then base := begin_incarnation(); end if;
      return (base + pg_current_xact_id()::text::bigint)::text::xid8; end $$`);
    this.addSql(`create function "begin_incarnation"() returns bigint language plpgsql volatile as $$ declare known database_incarnation; highest bigint; base bigint; begin
      select * into known from database_incarnation for update;
      if known.server = database_server() then return known.xid_base; end if;
      highest := highest_event_transaction();
      base := greatest(highest, ${FROM_THE_CLOCK}) + ${GAP} - pg_current_xact_id()::text::bigint;
      update database_incarnation set server = database_server(), xid_base = base, number = number + 1, began_at = clock_timestamp();
      return base; end $$`);
    this.addSql(`create function "highest_event_transaction"() returns bigint language sql stable as $$ select greatest(
      (select txid::text::bigint from event order by txid desc, seq desc limit 1), (select max(txid::text::bigint) from event_channel), (select max(txid::text::bigint) from webhook), 0) $$`);

    // A database that was restored before this was known: its ids lie above its server's.
    this.addSql(
      `insert into "database_incarnation" select 'this', 1, case when highest_event_transaction() >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint then 'another' else database_server() end, 0, clock_timestamp()`,
    );

    // Also for admins of the version before, which leave both to the defaults.
    this.addSql(`alter table "event" alter column "txid" set default event_transaction()`);
    this.addSql(`alter table "webhook" alter column "txid" set default event_transaction()`);
  }
}
