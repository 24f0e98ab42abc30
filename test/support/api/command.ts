/** Commands as the API answers them. */
import type { CommandResource } from '../../../actors/resources/command.ts';

/** A command with no executions. */
export function commandOf(id: string): CommandResource {
  return {
    id,
    command_text: 'true',
    targeting: { type: 'all' },
    timeout: null,
    expired_at: null,
    summary: {
      total: 0,
      pending: 0,
      sent: 0,
      completed: 0,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      expired: 0,
      dropped: 0,
    },
    inserted_at: '2026-01-15T10:00:00.000Z',
    updated_at: '2026-01-15T10:00:00.000Z',
  };
}
