/** A command as clients see it. */
import type { CommandRecord } from '../records.ts';
import type { CommandResource, CommandSummary } from '../resources/command.ts';
import { instant } from '../resources/instant.ts';

/** The resource of a command with its counts. */
export function commandResource(record: CommandRecord, summary: CommandSummary): CommandResource {
  return {
    id: record.id,
    command_text: record.text,
    targeting: record.targeting,
    timeout: record.timeoutMs,
    expired_at: instant(record.expiredAtMs),
    summary,
    inserted_at: instant(record.insertedAtMs),
    updated_at: instant(record.insertedAtMs),
  };
}
