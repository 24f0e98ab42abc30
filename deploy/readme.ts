/** The tables of the README that come from the code. `node deploy/readme.ts` writes them; a test holds them equal. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ASK_MS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, MAILBOX_MESSAGES_MAX } from '../actors/limits.ts';
import { UNACKNOWLEDGED_MAX } from '../actors/node/delivery.ts';
import { OPEN_EXECUTIONS_MAX } from '../actors/node/state.ts';
import { BATCH_EVENTS_MAX, PUBLISH_MS_MAX } from '../actors/published-event.ts';
import { SSH_LIMITS } from '../agent/access/ssh/limits.ts';
import { SPOOL_BYTES_MAX } from '../agent/access/ssh/spool.ts';
import { CONNECT_MS_MAX, CONNECTIONS_MAX, HANDSHAKE_MS_MAX } from '../transport/proxies/limits.ts';
import { TUNNEL_IDLE_MS } from '../transport/protocol/limits.ts';
import { TUNNEL_STREAMS_MAX } from '../transport/protocol/tunnel.ts';
import { SSH_ATTEMPTS_BURST_MAX, SSH_ATTEMPTS_PER_SECOND } from '../actors/ssh/login.ts';
import { ANSWER_BYTES_MAX } from '../actors/webhook/delivery.ts';
import { RETRY_WAIT_MS_MAX } from '../actors/webhook/retry.ts';
import { REDELIVERIES_MAX, WINDOW_DELIVERIES_MAX } from '../actors/webhook/state.ts';
import { AGENT_SETTINGS } from '../agent/config.ts';
import { KILL_AFTER_MS } from '../agent/execution/running-execution.ts';
import { WATCHED_EXECUTIONS_MAX, WATCHED_EXECUTIONS_TOTAL_MAX, WATCHED_NODES_MAX } from '../api/feeds/limits.ts';
import { IN_VALUES_MAX, PAGE_SIZE_MAX } from '../api/list-input.ts';
import { SIGN_IN_MS_MAX } from '../api/trpc/waiting-room.ts';
import { BODY_DEPTH_MAX } from '../api/rest/json-body.ts';
import { TARGET_CLUSTERS_MAX, TARGET_NODES_MAX } from '../api/targeting-input.ts';
import { ADMIN_SETTING_THEMES } from '../settings/admin.ts';
import { RELAY_SETTINGS } from '../settings/relay.ts';
import { PUBLIC_KEYS_MAX } from '../persistence/committer/cluster-rows.ts';
import { SSH_PUBLIC_KEYS_MAX, SSH_USERNAMES_MAX } from '../persistence/committer/ssh-rows.ts';
import { WEBHOOKS_MAX } from '../persistence/committer/webhook-rows.ts';
import { QUERY_MS_MAX } from '../persistence/database.ts';
import { LEASE_MS } from '../persistence/leases.ts';
import { BATCH_BYTES_MAX } from '../persistence/publishing/broker-rows.ts';
import { CHANNEL_LEASE_MS } from '../persistence/publishing/channels.ts';
import { HASHES_WAITING_MAX } from '../persistence/ssh/passwords.ts';
import { settingsMarkdown } from '../settings/environment.ts';
import {
  COMMAND_TEXT_BYTES_MAX,
  FRAME_BYTES_MAX,
  RECONNECT_MS_MAX,
  SESSION_SILENCE_MS_MAX,
} from '../transport/protocol/limits.ts';
import { MESH_ENDPOINTS_MAX, MESH_PEERS_MAX } from '../transport/protocol/mesh.ts';
import { FRAMES_PER_SECOND_MAX, UNSTORED_BYTES_MAX } from '../transport/sessions/limits.ts';
import { RETRY_AFTER_MS_MAX } from '../transport/events/webhooks/limits.ts';

/** Where it is. */
export const README = fileURLToPath(new URL('../README.md', import.meta.url));

/** Limits that a user can meet. Those that are settings stand among the settings. */
const LIMITS: readonly (readonly [name: string, value: string, meaning: string])[] = [
  ['COMMAND_TEXT_BYTES_MAX', bytes(COMMAND_TEXT_BYTES_MAX), 'Longest script of a command.'],
  [
    'TARGET_NODES_MAX',
    number(TARGET_NODES_MAX),
    'Nodes that one command may name by id. Clusters, filters and `all` have no such bound.',
  ],
  ['TARGET_CLUSTERS_MAX', number(TARGET_CLUSTERS_MAX), 'Clusters that one command may name.'],
  [
    'OPEN_EXECUTIONS_MAX',
    number(OPEN_EXECUTIONS_MAX),
    'Unfinished executions of one node that are held in memory; more wait in the database.',
  ],
  [
    'UNACKNOWLEDGED_MAX',
    number(UNACKNOWLEDGED_MAX),
    'Deliveries to one agent that it has not acknowledged yet; the next ones wait.',
  ],
  ['KILL_AFTER_MS', seconds(KILL_AFTER_MS), 'From TERM to KILL, when a command is cancelled or times out.'],
  ['PAGE_SIZE_MAX', number(PAGE_SIZE_MAX), 'Rows of one page of a list.'],
  ['IN_VALUES_MAX', number(IN_VALUES_MAX), 'Values of one `__in` filter.'],
  ['BODY_DEPTH_MAX', number(BODY_DEPTH_MAX), 'Nesting of a JSON body.'],
  ['IDEMPOTENCY_KEY_CHARS_MAX', number(IDEMPOTENCY_KEY_CHARS_MAX), 'Characters of an `Idempotency-Key`.'],
  ['ASK_MS_MAX', seconds(ASK_MS_MAX), 'An answer comes within this, if only a 503.'],
  ['QUERY_MS_MAX', seconds(QUERY_MS_MAX), 'Patience with one statement of the database.'],
  [
    'MAILBOX_MESSAGES_MAX',
    number(MAILBOX_MESSAGES_MAX),
    'Messages that wait at one node, cluster or command; beyond it callers get 503.',
  ],
  ['WATCHED_NODES_MAX', number(WATCHED_NODES_MAX), 'Nodes that one live feed may follow.'],
  ['WATCHED_EXECUTIONS_MAX', number(WATCHED_EXECUTIONS_MAX), 'Executions of one command that can be followed live.'],
  [
    'WATCHED_EXECUTIONS_TOTAL_MAX',
    number(WATCHED_EXECUTIONS_TOTAL_MAX),
    'Executions of all commands that are followed live at a time, at one admin.',
  ],
  ['SIGN_IN_MS_MAX', seconds(SIGN_IN_MS_MAX), 'A live connection that has shown no key by then is closed.'],
  ['PUBLIC_KEYS_MAX', number(PUBLIC_KEYS_MAX), 'Public enrolment keys that wait to be used.'],
  ['FRAME_BYTES_MAX', bytes(FRAME_BYTES_MAX), 'One message between agent and admin.'],
  [
    'FRAMES_PER_SECOND_MAX',
    number(FRAMES_PER_SECOND_MAX),
    'Messages that an agent may send a second, in the long run; a flood is cut.',
  ],
  [
    'UNSTORED_BYTES_MAX',
    bytes(UNSTORED_BYTES_MAX),
    'Output of all agents together that an admin has read and not stored yet; above it they wait.',
  ],
  ['SESSION_SILENCE_MS_MAX', seconds(SESSION_SILENCE_MS_MAX), 'Silence after which a connection counts as dead.'],
  ['RECONNECT_MS_MAX', seconds(RECONNECT_MS_MAX), 'Longest wait of an agent before it tries to connect again.'],
  ['TUNNEL_STREAMS_MAX', number(TUNNEL_STREAMS_MAX), 'Connections to one machine at once, through one admin.'],
  [
    'CONNECTIONS_MAX',
    number(CONNECTIONS_MAX),
    'Clients of one proxy at once; beyond it the oldest that has not shown its password makes room.',
  ],
  ['HANDSHAKE_MS_MAX', seconds(HANDSHAKE_MS_MAX), 'A client of a proxy that has not asked by then is cut.'],
  ['CONNECT_MS_MAX', seconds(CONNECT_MS_MAX), 'A target of a proxy that does not answer by then is given up.'],
  [
    'TUNNEL_IDLE_MS',
    seconds(TUNNEL_IDLE_MS),
    'A tunnel without a connection is closed after this, and opened again when somebody wants in.',
  ],
  [
    'MESH_PEERS_MAX',
    number(MESH_PEERS_MAX),
    'Machines in the network of one cluster; more are in the cluster and not in its network.',
  ],
  ['MESH_ENDPOINTS_MAX', number(MESH_ENDPOINTS_MAX), 'Addresses of its own under which one machine is looked for.'],
  [
    'SPOOL_BYTES_MAX',
    bytes(SPOOL_BYTES_MAX),
    'Recordings that wait on a machine for an admin; beyond it none are made.',
  ],
  [
    'connectionsMax',
    number(SSH_LIMITS.connectionsMax),
    'SSH connections to one machine at once, and 16 of one username.',
  ],
  ['SSH_USERNAMES_MAX', number(SSH_USERNAMES_MAX), 'SSH usernames of one node.'],
  ['SSH_PUBLIC_KEYS_MAX', number(SSH_PUBLIC_KEYS_MAX), 'Keys of one SSH username.'],
  [
    'SSH_ATTEMPTS_BURST_MAX',
    number(SSH_ATTEMPTS_BURST_MAX),
    'SSH logins in a row that come to nothing, at one node; beyond it they are refused without a look.',
  ],
  ['SSH_ATTEMPTS_PER_SECOND', number(SSH_ATTEMPTS_PER_SECOND), 'How many more of them a second.'],
  [
    'HASHES_WAITING_MAX',
    number(HASHES_WAITING_MAX),
    'Passwords that wait to be hashed or verified, on one admin; beyond it they are refused.',
  ],
  ['WEBHOOKS_MAX', number(WEBHOOKS_MAX), 'Webhooks in all.'],
  [
    'WINDOW_DELIVERIES_MAX',
    number(WINDOW_DELIVERIES_MAX),
    'Unfinished deliveries of one webhook that are held in memory; more wait in the database.',
  ],
  ['REDELIVERIES_MAX', number(REDELIVERIES_MAX), 'Deliveries of one webhook that wait to be sent again by hand.'],
  [
    'RETRY_WAIT_MS_MAX',
    seconds(RETRY_WAIT_MS_MAX),
    'Longest wait between two tries of a delivery, unless the receiver wishes a longer one.',
  ],
  ['RETRY_AFTER_MS_MAX', seconds(RETRY_AFTER_MS_MAX), 'Longest wish of a receiver by `Retry-After`.'],
  ['ANSWER_BYTES_MAX', bytes(ANSWER_BYTES_MAX), 'Kept of the answer of a receiver.'],
  ['BATCH_EVENTS_MAX', number(BATCH_EVENTS_MAX), 'Events in one publish to a broker.'],
  ['BATCH_BYTES_MAX', bytes(BATCH_BYTES_MAX), 'Their text, in all.'],
  ['PUBLISH_MS_MAX', seconds(PUBLISH_MS_MAX), 'A publish that is not confirmed after this is done again.'],
  [
    'CHANNEL_LEASE_MS',
    seconds(CHANNEL_LEASE_MS),
    'Events of an admin that was killed go on from another one after this.',
  ],
  ['LEASE_MS', seconds(LEASE_MS), 'An admin that does not renew its lease loses its clusters to another one.'],
];

/** Region of the README → what stands in it. */
const REGIONS: Readonly<Record<string, () => string>> = {
  'settings of a relay': () => settingsMarkdown(RELAY_SETTINGS),
  'settings of edge-admin': () =>
    Object.entries(ADMIN_SETTING_THEMES)
      .map(([theme, shape]) => `**${theme}**\n\n${settingsMarkdown(shape)}`)
      .join('\n'),
  'settings of edge-agent': () => settingsMarkdown(AGENT_SETTINGS),
  limits: () =>
    `| Limit | Value | Meaning |\n|---|---|---|\n${LIMITS.map(([name, value, meaning]) => `| \`${name}\` | ${value} | ${meaning} |\n`).join('')}`,
};

/** The text with every region as the code has it now. Throws when a region is not marked in it. */
export function withTables(text: string): string {
  return Object.entries(REGIONS).reduce((before, [region, table]) => {
    const [begin, end] = [`<!-- begin: ${region} (node deploy/readme.ts) -->\n`, `<!-- end: ${region} -->`];
    const [from, to] = [before.indexOf(begin), before.indexOf(end)];
    if (from === -1 || to < from)
      throw new Error(`The README has no region "${region}": it begins with ${begin.trim()} and ends with ${end}`);
    return `${before.slice(0, from + begin.length)}\n${table()}\n${before.slice(to)}`;
  }, text);
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function bytes(value: number): string {
  return value % 1_048_576 === 0 ? `${value / 1_048_576} MiB` : `${value / 1_024} KiB`;
}

function seconds(valueMs: number): string {
  return `${valueMs / 1_000} s`;
}

if (import.meta.main) writeFileSync(README, withTables(readFileSync(README, 'utf8')));
