/** Limits that a user can meet. Those that are settings stand among the settings. */
import { ADMIN_LIMITS } from './admin-limits.ts';
import { AGENT_CONNECTION_LIMITS } from './agent-connection-limits.ts';
import { DATABASE_LIMITS } from './database-limits.ts';
import { AGENT_UPDATE_LIMITS } from './agent-update-limits.ts';
import { CONSOLE_LIMITS } from './console-limits.ts';
import { limits, type Limit } from './limit.ts';
import { EVENT_LIMITS } from './event-limits.ts';
import { SSH_LIMITS } from './ssh-limits.ts';
import { TUNNEL_LIMITS } from './tunnel-limits.ts';
import { FEED_LIMITS } from './feed-limits.ts';
import { RELEASE_LIMITS } from './release-limits.ts';
import { UPDATER_LIMITS } from './updater-limits.ts';
import * as labelSelector from '../../actors/label-selector.ts';
import * as actorLimits from '../../actors/limits.ts';
import * as command from '../../actors/command/transition.ts';
import * as nodeFacts from '../../actors/node/facts.ts';
import * as nodeDelivery from '../../actors/node/delivery.ts';
import * as nodeState from '../../actors/node/state.ts';
import * as journal from '../../agent/execution/journal/journal-file.ts';
import * as startKit from '../../agent/execution/starts/start-kit.ts';
import * as ledger from '../../agent/execution/ledger/ledger-file.ts';
import * as runningExecution from '../../agent/execution/running-execution.ts';
import * as agentHistory from '../../agent/observability/history/history.ts';
import * as resolver from '../../agent/vpn/names/limits.ts';
import * as healthChecks from '../../api/health/check-runner.ts';
import * as idempotency from '../../api/idempotency.ts';
import * as listInput from '../../api/inputs/list-input.ts';
import * as commandOperations from '../../api/operations/commands.ts';
import * as keyOperations from '../../api/operations/enrollment-keys.ts';
import * as labelOperations from '../../api/operations/labels.ts';
import * as scrapes from '../../api/operations/scrapes.ts';
import * as enrolling from '../../api/rest/enroll.ts';
import * as enrollingAgain from '../../api/rest/enrolling-again.ts';
import * as keylessBodies from '../../api/rest/keyless-bodies.ts';
import * as restFailures from '../../api/rest/failures.ts';
import * as jsonBody from '../../api/rest/json-body.ts';
import * as targetingInput from '../../api/inputs/targeting-input.ts';
import * as tails from '../../cli/run/tails.ts';
import * as unwritten from '../../cli/run/unwritten.ts';
import * as enrollmentKeyRows from '../../persistence/committer/enrollment-key-rows.ts';
import * as executionReads from '../../persistence/reads/executions.ts';
import * as pageTargetings from '../../persistence/reads/page-targetings.ts';
import * as diagnoses from '../../transport/diagnoses/limits.ts';
import * as metrics from '../../transport/metrics/limits.ts';
import * as protocolLabels from '../../transport/protocol/labels.ts';
import * as protocol from '../../transport/protocol/limits.ts';
import * as history from '../../transport/protocol/metrics-history.ts';
import * as vpn from '../../transport/protocol/vpn.ts';
import * as wireguard from '../../transport/protocol/wireguard.ts';
import * as pipelining from '../../transport/net/streams/pipelining.ts';
import * as relay from '../../transport/vpn/relay/limits.ts';

/** By theme, in the order of the page. The link in the last column of each row leads to the file. */
export const LIMITS: Readonly<Record<string, readonly (readonly Limit[])[]>> = {
  Commands: [
    limits('transport/protocol/limits.ts', protocol, [
      ['COMMAND_TEXT_BYTES_MAX', 'Longest script of a command. A longer one is a 422.'],
      [
        'TAILS_PER_SESSION_MAX',
        'Outputs of one node that are shown as they come. A further one is shown when one of them ends, or it itself is over.',
      ],
    ]),
    limits('api/operations/commands.ts', commandOperations, [
      [
        'FAN_OUT_SCRIPT_BYTES_MAX',
        'Bytes of a script, as JSON, times the nodes that it reaches; more is a 422. Target fewer nodes at a time, or have a shorter script fetch the rest.',
      ],
    ]),
    limits('api/inputs/targeting-input.ts', targetingInput, [
      ['TARGET_NODES_MAX', 'Nodes that one command may name by id; more is a 422. Filters and `all` have no bound.'],
      ['TARGET_CLUSTERS_MAX', 'Clusters that one command may name; more is a 422.'],
    ]),
    limits('actors/command/transition.ts', command, [
      [
        'COMMAND_REST_AFTER_MS',
        'Time for which an admin holds a command with open executions of which nothing is heard. Then its rows alone have it, until somebody cancels it.',
      ],
    ]),
    limits('actors/node/state.ts', nodeState, [
      ['OPEN_EXECUTIONS_MAX', 'Unfinished executions of one node that are held in memory. More wait in the database.'],
    ]),
    limits('actors/node/delivery.ts', nodeDelivery, [
      ['UNACKNOWLEDGED_MAX', 'Deliveries to one agent without its acknowledgement. The next ones wait.'],
    ]),
    limits('agent/execution/running-execution.ts', runningExecution, [
      ['KILL_AFTER_MS', 'From TERM to KILL, when an execution is cancelled or times out.'],
    ]),
    limits('agent/execution/starts/start-kit.ts', startKit, [
      [
        'START_LOCK_WAIT_MS_MAX',
        'What got no start lock waits before it is tried again: 1 s at first, twice as long each time, at most this.',
      ],
    ]),
    limits('agent/execution/ledger/ledger-file.ts', ledger, [
      ['LEDGER_RECORDS_MAX', 'Executions that an agent remembers, so as not to run them again. The oldest go.'],
    ]),
    limits('agent/execution/journal/journal-file.ts', journal, [
      [
        'LOG_PAGES',
        'Pages of 4 KiB that the log of `journal.db` has on the disk of a machine from the start on: 1 MiB.',
      ],
      [
        'FREE_BYTES_MAX',
        'Room that `journal.db` keeps of results that were confirmed. More goes back to the disk once what still waits is below 1 MiB.',
      ],
    ]),
    limits('persistence/reads/executions.ts', executionReads, [
      [
        'PAGE_OUTPUT_BYTES_MAX',
        'Output in one page of executions. Beyond it `output` is null and `output_withheld` true: read these singly.',
      ],
    ]),
    limits('persistence/reads/page-targetings.ts', pageTargetings, [
      [
        'PAGE_TARGETING_BYTES_MAX',
        'Targetings in one page of commands, groups or self-update requests. Beyond it one is only its `type`, with `withheld: true`: read these singly.',
      ],
    ]),
    limits('cli/run/unwritten.ts', unwritten, [
      [
        'UNWRITTEN_BYTES_MAX',
        'Output that `edge run` or `edge logs` received and its reader has not taken. Beyond it nothing more is received until half of it was.',
      ],
    ]),
    limits('cli/run/tails.ts', tails, [
      ['TAILS_MAX', 'Outputs that one `edge run` shows as they come; of more nodes each is shown when it is over.'],
      ['LINE_CHARS_MAX', 'Characters of one line of output that `edge` holds. A longer one is shown in several.'],
    ]),
  ],
  'Labels and facts': [
    limits('transport/protocol/labels.ts', protocolLabels, [
      ['LABELS_MAX', 'Labels of one node; more are a 422.'],
      ['LABEL_KEY_CHARS_MAX', 'Characters of a key, of which 63 are its name. A value has at most 63.'],
    ]),
    limits('actors/label-selector.ts', labelSelector, [
      ['SELECTOR_REQUIREMENTS_MAX', 'Requirements of one selector; more are a 400 or a 422.'],
      ['SELECTOR_VALUES_MAX', 'Values of one requirement; more are a 400 or a 422.'],
      ['SELECTOR_CHARS_MAX', 'Characters of a selector; more are a 400 or a 422.'],
    ]),
    limits('api/operations/labels.ts', labelOperations, [
      ['LABELLED_NODES_MAX', 'Nodes that one `label_nodes` reaches; more are a 422.'],
    ]),
    limits('actors/node/facts.ts', nodeFacts, [
      [
        'FACTS_BURST_MAX',
        'Changes of its machine that an agent may have stored at once; then one a minute, the last of them.',
      ],
    ]),
  ],
  'Requests to the API': [
    limits('api/inputs/list-input.ts', listInput, [
      ['PAGE_SIZE_MAX', 'Rows of one page of a list; more is a 400.'],
      ['IN_VALUES_MAX', 'Values of one `__in` filter; more is a 400.'],
      ['SORT_FIELDS_MAX', 'Fields of one `sort`; more is a 400.'],
      ['FILTER_TEXT_MAX', 'Characters of a text filter; more is a 400.'],
    ]),
    limits('api/rest/json-body.ts', jsonBody, [
      ['BODY_DEPTH_MAX', 'Nesting of a JSON body. A deeper one is a 400.'],
      ['BODY_MEMBERS_MAX', 'Members of all objects of a JSON body. One with more is a 400.'],
    ]),
    limits('api/rest/keyless-bodies.ts', keylessBodies, [
      ['KEYLESS_BODY_BYTES_MAX', 'Bytes of a body that comes without a key that is known here; more is a 413.'],
    ]),
    limits('api/rest/failures.ts', restFailures, [
      ['HEADER_BYTES_MAX', 'All headers of a request, its path and its query; more is a 400.'],
    ]),
    limits('transport/net/streams/pipelining.ts', pipelining, [
      [
        'PIPELINED_REQUESTS_MAX',
        'Requests of one connection that wait for their answers, at every HTTP server here; with one more it is cut.',
      ],
    ]),
    limits('api/idempotency.ts', idempotency, [
      ['IDEMPOTENCY_KEY_CHARS_MAX', 'Characters of an `Idempotency-Key`; more is a 400.'],
    ]),
    limits('actors/limits.ts', actorLimits, [
      ['ASK_MS_MAX', 'An answer comes within this, if only a 503.'],
      ['MAILBOX_MESSAGES_MAX', 'Messages that wait at one node, cluster or command. Beyond it callers get 503.'],
    ]),
    ...DATABASE_LIMITS,
    limits('api/health/check-runner.ts', healthChecks, [
      ['CHECK_MS_MAX', 'A health check that takes longer counts as failed.'],
      ['HEALTH_KEPT_MS', 'What `check_admin_health` tells was found so long ago at most.'],
    ]),
    limits('persistence/committer/enrollment-key-rows.ts', enrollmentKeyRows, [
      ['PUBLIC_KEYS_MAX', 'Public enrolment keys that wait to be used. Beyond it none are made (429).'],
    ]),
    limits('api/operations/enrollment-keys.ts', keyOperations, [
      ['PUBLIC_KEYS_PER_HOUR_MAX', 'Of them, those that one address or /64 is given in an hour, at each admin (429).'],
    ]),
    limits('api/rest/enroll.ts', enrolling, [
      ['REFUSED_EVENTS_PER_MINUTE_MAX', 'Events of refused enrolments in a minute, at each admin; then 429 or none.'],
      ['FULL_TOLD_MS', 'A machine that waits at a full cluster leaves one event in this, at each admin.'],
    ]),
    limits('api/rest/enrolling-again.ts', enrollingAgain, [
      [
        'ENROLLED_AGAIN_BURST_MAX',
        'Enrolments in one go of a node that is enrolled, by the secret of its machine, and as many by a recovery key; at each admin. Beyond, 429.',
      ],
      ['ENROLLED_AGAIN_PER_MINUTE_MAX', 'Of them, those that come back in a minute.'],
    ]),
    limits('api/operations/scrapes.ts', scrapes, [
      ['TARGETS_MAX', 'Scrape targets in one answer of MCP and tRPC. The discovery routes have no bound.'],
    ]),
    limits('transport/diagnoses/limits.ts', diagnoses, [
      ['DIAGNOSIS_MS_MAX', 'A diagnosis of a node ends within this; what did not answer is told as such.'],
      ['DIAGNOSES_MAX', 'Nodes that are diagnosed at once. Others are told to come again (503).'],
    ]),
    limits('transport/metrics/limits.ts', metrics, [
      ['EXPOSITION_BYTES_MAX', 'Largest answer of a node to a scrape. A larger one is a 503.'],
    ]),
    limits('agent/observability/history/history.ts', agentHistory, [
      ['HISTORY_KEPT_MAX', 'Points that an agent keeps of what its machine measures. The oldest goes.'],
    ]),
    limits('transport/protocol/metrics-history.ts', history, [
      ['HISTORY_INTERVAL_MS', 'From one of them to the next.'],
      ['HISTORY_MS_MAX', 'What is older is not told.'],
      ['HISTORY_POINTS_MAX', 'Points that an admin takes of a node. More are a 503.'],
      ['HISTORY_BYTES_MAX', 'Bytes of them. More are a 503.'],
    ]),
  ],
  'Live feeds': FEED_LIMITS,
  Console: CONSOLE_LIMITS,
  'Connections of agents': AGENT_CONNECTION_LIMITS,
  'Proxies and tunnels': TUNNEL_LIMITS,
  SSH: SSH_LIMITS,
  VPN: [
    limits('transport/protocol/vpn.ts', vpn, [
      ['VPN_PEERS_MAX', 'Machines in the VPN of one cluster. More are in the cluster and not in its VPN.'],
      ['VPN_ALIASES_MAX', 'Aliases of one node; more is a 409.'],
      ['VPN_ENDPOINTS_MAX', 'Addresses of its own under which one machine is looked for.'],
    ]),
    limits('transport/protocol/wireguard.ts', wireguard, [
      ['WIREGUARD_PEERS_MAX', 'Peers of one interface, and the most that `ADMIN_MAX_WIREGUARD_PEERS` may say.'],
    ]),
    limits('agent/vpn/names/limits.ts', resolver, [
      ['QUERIES_PER_SECOND_MAX', 'Queries of one address to the resolver of a machine. More are dropped.'],
    ]),
    limits('transport/vpn/relay/limits.ts', relay, [
      ['CONNECTIONS_MAX', 'Connections of one relay. More are refused.'],
      ['UNAUTHENTICATED_MAX', 'Of these, without a proven key.'],
      ['UNAUTHENTICATED_OF_ADDRESS_MAX', 'And of those, from one address, or from one /64 of IPv6.'],
      ['CONNECTIONS_OF_KEY_MAX', 'Connections of one key. The oldest goes.'],
      ['BYTES_PER_SECOND_MAX', 'What one key sends in a second, in the long run. Then it is read no faster.'],
      ['WAITING_PACKETS_MAX', 'Packets that wait for one client. Then the oldest are dropped.'],
      ['WRITE_MS_MAX', 'A client that takes nothing for so long is cut.'],
    ]),
  ],
  'Webhooks and events': EVENT_LIMITS,
  'Releases of the agent': RELEASE_LIMITS,
  'Self-updates at an agent': AGENT_UPDATE_LIMITS,
  'The updater of a machine': UPDATER_LIMITS,
  'Several admins': ADMIN_LIMITS,
};
