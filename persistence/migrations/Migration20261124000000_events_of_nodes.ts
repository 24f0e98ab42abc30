/** The latest events of one node, without reading all events. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261124000000_events_of_nodes extends Migration {
  override up(): void {
    // Of nodes alone: executions make most events, and theirs cost no entry.
    this.addSql(`create index "event_of_node" on "event" ("subject", "txid", "seq") where "type" like 'edge.node.%'`);
  }
}
