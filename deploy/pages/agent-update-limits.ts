/** What bounds self-updates at an agent. */
import * as outcomes from '../../agent/update/outcomes.ts';
import * as signal from '../../agent/update/signal.ts';
import * as records from '../../agent/update/update-records.ts';
import * as updateTime from '../../agent/update/update-time.ts';
import * as exchange from '../../agent/update/updater-exchange.ts';
import { limits, type Limit } from './limit.ts';

/** By file. */
export const AGENT_UPDATE_LIMITS: readonly (readonly Limit[])[] = [
  limits('agent/update/signal.ts', signal, [
    ['SIGNAL_MS_MAX', 'From a request of an admin to its answer, however often a busy updater is asked.'],
    ['RESTART_MS_MAX', 'Where no updater listens, one that is being started anew is waited for. Then it is a refusal.'],
  ]),
  limits('agent/update/updater-exchange.ts', exchange, [
    ['CONNECT_MS_MAX', 'Until a connection to the updater stands. Then the update failed, with this as the reason.'],
    ['ANSWER_BYTES_MAX', 'Read of an answer of the updater; the rest is not looked at.'],
  ]),
  limits('agent/update/update-records.ts', records, [
    [
      'RECORDS_MAX',
      'Requests that wait or are remembered, so as not to signal one twice. The oldest that are over go.',
    ],
  ]),
  limits('agent/update/outcomes.ts', outcomes, [
    ['OUTCOME_MS_MAX', 'The updater is asked for so long what came of an update; then again after the next start.'],
  ]),
  limits('agent/update/update-time.ts', updateTime, [
    [
      'OWN_UPDATE_MS_MAX',
      'After a signal that was taken, a SIGTERM within this ends no execution, unless the updater has said what came of it.',
    ],
  ]),
];
