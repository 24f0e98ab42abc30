/** How the transaction of a batch begins: for how long it may wait, and how its statements are planned. */
import type { QueryConfig } from 'pg';
import type { Timeouts } from './isolation.ts';

/**
 * While a server waits for the rest of a series the session is not idle to it: from version 17 on it ends such a
 * transaction by another limit, which is set to the same time.
 */
const ENDED_IN_TIME = `case when current_setting('transaction_timeout', true) is not null then set_config('transaction_timeout', current_setting('idle_in_transaction_session_timeout'), true) end`;

/**
 * Statements of a batch find all their rows by keys: each is planned once for a connection, and not so that it would
 * read whole tables once these have grown. Planning them anew was a fifth of the server's time (measured).
 */
const PLANNED_ONCE = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ');

/**
 * A batch that waits for a row that is locked, or takes too long, is taken apart: it must not take the time that all of
 * its callers have.
 */
export function beginOf({ lockMsMax, statementMsMax }: Timeouts): readonly QueryConfig[] {
  return [
    { name: 'begin', text: 'begin' },
    {
      name: 'set-timeouts',
      text: `select set_config('lock_timeout', $1, true), set_config('statement_timeout', coalesce($2, current_setting('statement_timeout')), true), ${ENDED_IN_TIME}, ${PLANNED_ONCE}`,
      values: [String(lockMsMax), statementMsMax === null ? null : String(statementMsMax)],
    },
  ];
}

/** The same as one text. */
export function beginWith(timeouts: Timeouts): string {
  return `begin; set local lock_timeout = ${timeouts.lockMsMax}${timeouts.statementMsMax === null ? '' : `; set local statement_timeout = ${timeouts.statementMsMax}`}`;
}
