/** Publishing: channels with their cursors into the events, webhooks, deliveries and their tries. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121120000_publishing extends Migration {
  override up(): void {
    // How far each channel has come, and which admin serves it. A cursor is a place in the order of (txid, seq), below
    // every transaction that still ran.
    this.addSql(`create table "event_channel" (
      "name" text primary key, "txid" xid8 not null, "seq" bigint not null, "admin_id" uuid null, "epoch" bigint not null default 0, "lease_until" timestamptz(3) null)`);
    this.addSql(`insert into "event_channel" ("name", "txid", "seq") values ('webhooks', '0', 0)`);

    // Whoever publishes sleeps until events are stored. Those of one transaction are one notification.
    this.addSql(
      `create function "tell_of_events"() returns trigger language plpgsql as $$ begin perform pg_notify('edge_events', ''); return null; end $$`,
    );
    this.addSql(
      `create trigger "event_stored" after insert on "event" for each statement execute function "tell_of_events"()`,
    );

    // RFC 9562, version 7: 48 bits of Unix ms, then random. PostgreSQL has its own only from 18 on.
    this.addSql(`create function "uuid_v7"() returns uuid language sql volatile parallel safe as $$
      select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid $$`);

    // "txid" is that of its creation: events of older transactions are not for it.
    this.addSql(`create table "webhook" (
      "id" uuid primary key, "url" text not null, "subscribed_events" text[] not null, "sealed_secret" text not null, "sealed_headers" text not null, "txid" xid8 not null default pg_current_xact_id(),
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null)`);

    // No foreign keys: a webhook is deleted at once, its many deliveries in batches behind it. No unique key either: an
    // event becomes a delivery in
    // the transaction that moves the channel, whose row is locked; each index more costs every delivery twice.
    this.addSql(`create table "webhook_delivery" (
      "id" uuid primary key default "uuid_v7"(), "webhook_id" uuid not null, "event_txid" xid8 not null, "event_seq" bigint not null, "event_id" uuid not null, "event_type" text not null, "subject" uuid not null,
      "status" text not null default 'pending' check ("status" in ('pending', 'delivered', 'dropped')), "attempt_count" int not null default 0, "attempts_max" int not null, "next_attempt_at" timestamptz(3) null,
      "last_status_code" int null, "last_error" text null, "last_duration_ms" int null, "last_attempted_at" timestamptz(3) null,
      "inserted_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null,
      check ("attempt_count" <= "attempts_max" and ("status" = 'pending' or "next_attempt_at" is null))) with (fillfactor = 70)`);
    this.addSql(
      `create index "webhook_delivery_pending" on "webhook_delivery" ("webhook_id", "event_txid", "event_seq") where "status" = 'pending'`,
    );
    this.addSql(`create index "webhook_delivery_of_webhook" on "webhook_delivery" ("webhook_id", "id")`);

    this.addSql(`create table "webhook_attempt" (
      "delivery_id" uuid not null, "number" int not null, "attempted_at" timestamptz(3) not null, "duration_ms" int not null, "status_code" int null, "error" text null, "response_body" text null,
      primary key ("delivery_id", "number"), check (("status_code" is null) <> ("error" is null)))`);

    this.addSql(
      `create trigger "webhook_delivery_inserted" after insert on "webhook_delivery" referencing new table as changed for each statement execute function "count_rows"()`,
    );
    this.addSql(
      `create trigger "webhook_delivery_deleted" after delete on "webhook_delivery" referencing old table as changed for each statement execute function "count_rows"()`,
    );
  }
}
