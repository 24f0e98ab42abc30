/** Labels as words of one index that needs no second look at the row: a selector's nodes are counted by it. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123130000_label_tokens extends Migration {
  override up(): void {
    // `key` and `key=value`: no key holds a `=`. Its cost keeps the planner from calling it for each row instead.
    this.addSql(`create function "label_tokens"(labels jsonb) returns text[] language sql immutable strict parallel safe cost 10000
      return (select coalesce(array_agg(token), '{}') from (
        select key as token from jsonb_each_text(labels) union all select key || '=' || value from jsonb_each_text(labels)) as tokens)`);
    this.addSql(`create index "node_labels_tokens" on "node_labels" using gin (label_tokens("labels"))`);
  }
}
