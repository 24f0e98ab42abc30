/** Limits of the control sessions between agents and admins. */
import { limits, type Limit } from './limit.ts';
import * as refusals from '../../agent/session/refusals.ts';
import * as suspicion from '../../agent/session/suspicion.ts';
import * as protocol from '../../transport/protocol/limits.ts';
import * as sessions from '../../transport/sessions/limits.ts';

/** In the order of the page. The link in the last column of each row leads to the file. */
export const AGENT_CONNECTION_LIMITS: readonly (readonly Limit[])[] = [
  limits('transport/protocol/limits.ts', protocol, [
    ['FRAME_BYTES_MAX', 'One message between agent and admin. A larger one ends the session (4008).'],
    ['PING_INTERVAL_MS', 'An agent says so often that it is there.'],
    ['SESSION_SILENCE_MS_MAX', 'Silence after which a session counts as dead.'],
    ['METERED_PING_MS', 'The same with `AGENT_METERED`; dead is one that missed two.'],
    ['PEERED_PING_MS', 'The same where its admin knows others.'],
    ['SUSPECT_AFTER_MS', 'A ping that nothing follows for so long has another admin asked, where one is known.'],
    ['RECONNECT_MS_MAX', 'Longest wait of an agent before it tries to connect again.'],
  ]),
  limits('transport/sessions/limits.ts', sessions, [
    [
      'FRAMES_PER_SECOND_MAX',
      'Messages of one agent in a second; 1.75 s of them may come in one go. Whoever keeps above it is cut within 2 s (4008).',
    ],
    ['BYTES_PER_SECOND_MAX', 'Bytes of one agent in a second, in the long run. Beyond it, it is read no faster.'],
    ['SESSIONS_BURST_MAX', 'Sessions that one agent may begin in a row; then one in 2 s, others are cut (4008).'],
    ['UNSTORED_BYTES_MAX', 'Output that was read and is not stored yet, of all agents. Above it they wait.'],
    ['DEPARTURE_GAP_MS', 'Least time between two agents that are told to go to another admin: 1,000 in 5 s.'],
    ['REPORT_LATE_MS', 'Without a report for so long a connected node is `unhealthy`.'],
  ]),
  limits('agent/session/suspicion.ts', suspicion, [
    [
      'BESIDE_HANDSHAKE_MS_MAX',
      'An admin that is asked beside a silent one is given up when it does not answer by then.',
    ],
    [
      'ASK_AGAIN_MS_MAX',
      'Longest wait before the others are asked again; the first is 1 s, each further one twice as long.',
    ],
  ]),
  limits('agent/session/refusals.ts', refusals, [
    ['UNKNOWN_MS_MAX', 'Longest wait of an agent whose node no admin knows, before it asks again.'],
  ]),
];
