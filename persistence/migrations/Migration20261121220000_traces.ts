/** The trace that a command belongs to. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121220000_traces extends Migration {
  override up(): void {
    // W3C Trace Context, version 00: the request that created the command, for deliveries after a crash or by another
    // admin. Null: nobody traces it.
    this.addSql(
      `alter table "command" add column "traceparent" text null constraint "command_traceparent_check" check ("traceparent" ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$')`,
    );
  }
}
