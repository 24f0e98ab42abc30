/** Limits of several admins among each other. */
import * as peerAdmins from '../../actors/resources/peer-admin.ts';
import * as peerCalls from '../../api/internal/peer-calls.ts';
import * as debug from '../../api/debug/elsewhere.ts';
import * as encryptionKeys from '../../persistence/sealing/encryption-keys.ts';
import * as forwarding from '../../api/forwarding/deadline.ts';
import * as nodeStates from '../../persistence/loader/node-states.ts';
import * as names from '../../persistence/admins/instance-lock.ts';
import * as leases from '../../persistence/ownership/leases.ts';
import * as readWriteHost from '../../persistence/connections/read-write-host.ts';
import * as relayRows from '../../persistence/vpn/relay-rows.ts';
import * as databaseUrl from '../../settings/database-url.ts';
import * as goneAdmins from '../../persistence/sweeps/gone-admins.ts';
import * as forgotten from '../../persistence/sweeps/forgotten.ts';
import * as handedOver from '../../persistence/ownership/hand-over.ts';
import * as takeovers from '../../persistence/ownership/takeovers.ts';
import * as giveAway from '../../supervisors/ownership/give-away.ts';
import * as handOver from '../../supervisors/ownership/hand-over.ts';
import * as rebalancing from '../../supervisors/ownership/rebalancing.ts';
import * as activation from '../../supervisors/ownership/cluster-activation.ts';
import * as claims from '../../supervisors/ownership/claim-selection.ts';
import * as moves from '../../supervisors/ownership/moves.ts';
import * as orphanMoves from '../../supervisors/ownership/orphan-moves.ts';
import * as watchTimes from '../../supervisors/ownership/watch-times.ts';
import * as wakeUps from '../../supervisors/wake-ups.ts';
import * as feeds from '../../api/feeds/limits.ts';
import * as elsewhere from '../../supervisors/elsewhere.ts';
import * as admins from '../../transport/admins/limits.ts';
import { limits, type Limit } from './limit.ts';

/** Of one theme of the page. */
export const ADMIN_LIMITS: readonly (readonly Limit[])[] = [
  limits('persistence/ownership/leases.ts', leases, [
    ['LEASE_MS', 'An admin that does not renew its lease for so long loses its clusters to another one.'],
  ]),
  limits('persistence/vpn/relay-rows.ts', relayRows, [
    ['RELAY_GONE_MS', 'The relay of an admin that was killed stays in the map for so long.'],
  ]),
  limits('settings/database-url.ts', databaseUrl, [['DATABASE_HOSTS_MAX', 'Hosts in one `DATABASE_URL`.']]),
  limits('persistence/connections/read-write-host.ts', readWriteHost, [
    ['HOST_MS_MAX', 'A host of the database has so long to say whether it takes writes. Then the next one is asked.'],
  ]),
  limits('supervisors/ownership/watch-times.ts', watchTimes, [
    [
      'LOOKS_MISSED_MIN',
      'Rounds of a second, after an outage or its own start, in which an admin has to miss another one before that counts as gone.',
    ],
  ]),
  limits('supervisors/ownership/cluster-activation.ts', activation, [
    ['ACTIVATED_TOGETHER_MAX', 'Clusters whose rows are read together when they come to an admin.'],
    [
      'ACTIVATION_AWAITED_MS_MAX',
      'A start waits so long for the nodes of its clusters. The rest are read while it serves.',
    ],
  ]),
  limits('persistence/loader/node-states.ts', nodeStates, [
    ['LOADED_AT_ONCE_MAX', 'Nodes that are read at once when their cluster comes to an admin.'],
    ['OPEN_AT_FIRST', 'Unfinished executions that are read with each of them. The rest when its agent is there.'],
  ]),
  limits('supervisors/ownership/claim-selection.ts', claims, [
    [
      'UNCLAIMED_ROUNDS_MAX',
      'Rounds of a second that an admin has to take a free cluster; then any takes as much as it has room for.',
    ],
  ]),
  limits('supervisors/ownership/moves.ts', moves, [
    ['ORPHANS_A_LOOK_MAX', 'Clusters that fit nowhere, of as many sizes, for which room is looked for at a time.'],
    ['ORPHANS_TURN_MS', 'Where there are more, the next ones have their turn after this.'],
  ]),
  limits('supervisors/ownership/orphan-moves.ts', orphanMoves, [
    ['ORPHAN_MOVES_MAX', 'Clusters that are moved to make room for one.'],
    ['ORPHAN_CHOICES_MAX', 'Choices of clusters to move that are tried for one in a look.'],
  ]),
  limits('supervisors/ownership/hand-over.ts', handOver, [
    ['HANDED_OVER_AT_ONCE_MAX', 'Clusters that are handed over in one transaction.'],
    [
      'DEPARTING_MAX',
      'Agents that wait to be told of their new admin while a drain or balancing gives clusters away. Further clusters wait.',
    ],
    ['HAND_OVER_DRAIN_MS_MAX', 'Who waits for an answer about a cluster gets it first, within this time.'],
  ]),
  limits('persistence/ownership/hand-over.ts', handedOver, [
    ['HAND_OVER_LOCK_MS_MAX', 'A hand-over waits for a lock for so long. Then the cluster stays.'],
    ['HAND_OVER_STATEMENT_MS_MAX', 'The same for one of its statements.'],
  ]),
  limits('persistence/ownership/takeovers.ts', takeovers, [
    [
      'TAKEOVER_LOCK_MS_MAX',
      'A takeover waits so long for its turn with the room of its admin. Then the next round tries again.',
    ],
    ['TAKEN_AT_ONCE_MAX', 'Clusters that are taken over in one transaction. More take another one each.'],
  ]),
  limits('supervisors/ownership/give-away.ts', giveAway, [
    ['GIVE_ALL_MS_MAX', 'An admin that stops begins hand-overs for so long. What is left then is free for others.'],
  ]),
  limits('supervisors/ownership/rebalancing.ts', rebalancing, [
    ['KEPT_REST_ROUNDS', 'Rounds of a second after which a drain that nobody takes from tries again.'],
  ]),
  limits('api/forwarding/deadline.ts', forwarding, [
    [
      'FORWARD_MS_MAX',
      'Longest time that one request takes with all that is done for it, and all tries at other admins. Then it is a 503.',
    ],
  ]),
  limits('api/internal/peer-calls.ts', peerCalls, [
    [
      'CALL_LEFT_MS_MIN',
      'A call of another admin that has less time left is not begun: its caller tries again, or says that nothing was done.',
    ],
  ]),
  limits('actors/resources/peer-admin.ts', peerAdmins, [
    ['OWNED_CLUSTERS_MAX', 'Clusters of one admin that `get_peer_admin` and its metrics name, the first by name.'],
  ]),
  limits('persistence/admins/instance-lock.ts', names, [
    ['NAME_WATCHED_MS_MAX', 'A start whose `ADMIN_NAME` another process has watches it for so long, then ends.'],
  ]),
  limits('persistence/sweeps/gone-admins.ts', goneAdmins, [
    ['NAME_KEPT_DAYS', 'Days for which the name of an admin that is gone keeps its id.'],
  ]),
  limits('api/debug/elsewhere.ts', debug, [
    ['DEBUG_MS_MAX', 'The debug page of another admin that takes longer is not shown.'],
  ]),
  limits('persistence/sealing/encryption-keys.ts', encryptionKeys, [
    ['ADMIN_AWAY_MS_MAX', 'An admin that has not checked in for so long does not hold up a new `ENCRYPTION_KEY`.'],
    ['IN_FLIGHT_MS_MAX', 'So long after that change a former key is needed in any case.'],
  ]),
  limits('transport/admins/limits.ts', admins, [
    ['PEER_CONNECTIONS_MAX', 'Connections to one other admin. More calls wait for one of them.'],
    ['FORWARDS_OPEN_MAX', 'Calls to one other admin that are open at once. More are not made.'],
    ['PEER_CALLS_MAX', 'Calls of one other admin that are done at once. More are told so, and tried again.'],
    ['CALL_SLACK_BYTES', 'What a call between admins may have beyond `MAX_BODY_BYTES`; a larger one is a 413.'],
    ['ANSWER_BYTES_MAX', 'Largest answer of one admin to another; a larger one is an `internal_error`.'],
    ['CALL_AGE_MS_MAX', 'An older call of another admin, or one from so far ahead, is a 404.'],
    ['NONCES_MAX', 'Proofs of one other admin that are remembered as used. Beyond it, its calls are told to wait.'],
    ['ANSWERS_KEPT_MAX', 'Answers to one other admin that are kept, should it ask again. The oldest go.'],
    ['ANSWER_KEPT_MS', 'For so long.'],
    ['ANSWER_KEPT_BYTES_MAX', 'A larger answer is not kept: whoever asks again learns only that it was done.'],
    ['ANSWERS_KEPT_BYTES_MAX', 'All answers to one other admin that are kept. The oldest go.'],
    ['PEER_CONNECT_MS_MAX', 'Longest wait for a connection to another admin.'],
    ['DETOUR_AFTER_MS', 'A call without an answer after this goes by way of the database too.'],
    [
      'DATABASE_MESSAGE_BYTES_MAX',
      'Largest call and answer there, sealed. A larger call is not made there; of a larger answer the rows tell.',
    ],
    ['DATABASE_CALLS_OPEN_MAX', 'Calls to one other admin that are open there. More are not made there.'],
    ['DATABASE_PROBE_MS_MAX', 'An admin that does not say within this that it hears there is not asked there.'],
    ['DATABASE_PROBE_GOOD_MS', 'For so long it counts as told.'],
    ['PIECE_CHARS_MAX', 'Longer messages there go in several pieces.'],
    ['UNFINISHED_MESSAGES_MAX', 'Messages of which pieces are missing. The oldest go.'],
    ['PIECES_AGE_MS_MAX', 'One whose pieces come later than this is given up.'],
    ['WRONG_PROOFS_PER_MINUTE_MAX', 'Wrong proofs of an address in a minute before the log names it.'],
    ['PROBE_EVERY_MS', 'Each other admin is asked this often whether it is reached.'],
    ['PROBE_MS_MAX', 'Longest wait for that answer; the second time, the admin counts as not reached.'],
    [
      'NEWS_WAITING_MAX',
      'News that wait for one other admin. Beyond it they are dropped, and that admin reads the rows.',
    ],
    ['NEWS_GATHER_MS', 'For so long news are gathered before they are told.'],
    ['NEWS_FRAME_BYTES_MAX', 'Largest message of news; more of them are several messages.'],
    [
      'WATCHED_COMMANDS_MAX',
      'Commands of which an admin asks another one for news. Where more are waited for it is told of all.',
    ],
    ['LINK_PING_MS', 'Over a connection between admins something is said this often.'],
    ['LINK_SILENCE_MS_MAX', 'After so long a silence it is closed and dialled again.'],
    ['LINK_REDIAL_MS', 'Wait before a lost connection to another admin is dialled again, with jitter.'],
    ['LINK_REDIAL_MS_MAX', 'To this it doubles.'],
    ['LINK_UNUSED_MS_MAX', 'A connection of news by which nobody wants any is closed after this.'],
    ['MISSED_EVERY_MS', 'While news of another admin may be left out, feeds are told so this often.'],
    ['TOLD_TAILS_MAX', 'Running executions whose output is told to one other admin. More are not told live there.'],
    [
      'TAIL_UNREAD_BYTES_MAX',
      'Live output on its way to one other admin and not read there. Until some is, no more is sent.',
    ],
    ['TAIL_LINK_MS_MAX', 'So long a tail waits for the connection to the owner before it looks for the owner again.'],
    [
      'RELAYS_OPENING_MAX',
      "Tunnels that came here, are another admin's, and were not answered by it yet. More are a 503.",
    ],
    ['RELAY_OPEN_MS_MAX', 'The other admin answers such a tunnel within this, or it is a 503.'],
    [
      'CARRIED_SESSIONS_MAX',
      'Sessions of agents that are carried on to the owners of their clusters at once. More are sent there instead.',
    ],
    ['CARRIED_STREAMS_MAX', 'Connections of agents that are carried on to other admins at once. More are a 503.'],
    ['RELAYED_RECORD_BYTES_MAX', 'Bytes of an agent that are sealed as one between two admins.'],
  ]),
  limits('api/feeds/limits.ts', feeds, [
    ['RESYNC_EVERY_MS', 'A feed that may have missed something reads its rows at most this often.'],
    ['EVENTS_NET_MS', 'Where all events are told of, `events.watch` looks for others this often.'],
  ]),
  limits('supervisors/elsewhere.ts', elsewhere, [
    [
      'ELSEWHERE_NET_MS',
      'Executions at other admins that are told of are read all the same this often; others each second.',
    ],
  ]),
  limits('supervisors/wake-ups.ts', wakeUps, [
    [
      'HEARD_COMMANDS_MAX',
      'Commands of other admins that wait to be read by the owner of their nodes. Beyond it the owner looks for everything that is open.',
    ],
  ]),
  limits('persistence/sweeps/forgotten.ts', forgotten, [
    [
      'WOKEN_ROWS_MAX',
      'Executions that an owner reads at once when another admin says that it stored some. The sweep, each 2 s, finds the rest.',
    ],
  ]),
];
