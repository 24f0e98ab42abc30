/** A statement that wants all of its rows found, or its transaction taken back: whoever sent it waits for no answer. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128000000_all_found extends Migration {
  override up(): void {
    this.addSql(`create function "all_found" ("met" bigint, "wanted" bigint) returns boolean language plpgsql immutable as $$
      begin
        if met is distinct from wanted then
          raise exception '% of % rows found', met, wanted using errcode = 'UF001';
        end if;
        return true;
      end $$`);
  }
}
