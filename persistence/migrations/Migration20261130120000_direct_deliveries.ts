/**
 * A delivery that succeeds at its first try is stored once, with what came of it. Its id is made of its webhook and its
 * event, so that it is made once, whoever makes it; what its only try was answered is a column of its own.
 */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261130120000_direct_deliveries extends Migration {
  override up(): void {
    this.addSql(`alter table "webhook_delivery" add column "last_response_body" text null`);
    // See actors/webhook/delivery-id.ts.
    this.addSql(`create function "low_bits"("id" uuid) returns bigint language sql immutable strict parallel safe as $$
      select ('x' || right(encode(uuid_send(id), 'hex'), 16))::bit(64)::bigint & 4611686018427387903 $$`);
    this.addSql(`create function "delivery_id"("webhook" uuid, "event" uuid, "seq" bigint, "stored_at" timestamptz) returns uuid language sql immutable strict parallel safe as $$
      select (lpad(to_hex((extract(epoch from stored_at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(seq & 4095), 3, '0')
        || to_hex(((low_bits(webhook) + low_bits(event)) & 4611686018427387903) | (-9223372036854775807 - 1)))::uuid $$`);
  }
}
