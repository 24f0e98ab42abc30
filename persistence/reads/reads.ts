/**
 * The read side: lists, single reads and look-ups over rows. Every call is over within 5 s, with DatabaseUnavailable at
 * worst (L3).
 */
import type { Pool } from 'pg';
import type { ListRows, Reads } from '../../api/ports.ts';
import type { Vault } from '../vault.ts';
import type { ListName } from '../../actors/filters.ts';
import { CONNECT_MS_MAX } from '../connections/database.ts';
import { ALIASES } from './aliases.ts';
import { CLUSTERS } from './clusters.ts';
import { COMMANDS } from './commands.ts';
import { credentials } from './credentials.ts';
import { ENROLLMENT_KEYS } from './enrollment-keys.ts';
import { beforeLatest, eventsAfter } from './events.ts';
import { EXECUTIONS } from './executions.ts';
import { freeRanges, type RangeSettings } from './free-ranges.ts';
import { createPageAnchors, type PageAnchors } from './page-anchors.ts';
import { GROUPS, groupNamed } from './groups.ts';
import { lookUps } from './look-ups.ts';
import { NODES } from './nodes.ts';
import { nodeEvents } from './node-events.ts';
import { keyedPage, page } from './paging.ts';
import { SELF_UPDATE_REQUESTS, SELF_UPDATE_RESULTS_SOURCE } from './self-updates.ts';
import { isUuid, type Source } from './source.ts';
import { SSH_RECORDINGS } from './ssh-recordings.ts';
import { SSH_PUBLIC_KEYS, SSH_USERNAMES } from './ssh.ts';
import { createSummaries } from './summaries.ts';
import { targeter } from './targeted-nodes.ts';
import { createSemaphore } from '../connections/semaphore.ts';
import { deliveredEvent, deliveryOf, WEBHOOK_DELIVERIES } from './webhook-deliveries.ts';
import { WEBHOOKS } from './webhooks.ts';

/** What reads need: connections, the vault that opens keys, and how names and ranges are made. */
export interface ReadsOptions {
  readonly pool: Pool;
  readonly vault: Vault;
  /** Domain of all node host names: EDGE_VPN_DEFAULT_DOMAIN. */
  readonly domain: string;
  readonly ranges: RangeSettings;
}

/** Recordings that are unpacked at once, and that may wait for it: some 100 ms each at the default size. */
const RECORDINGS_AT_ONCE_MAX = 2;
const RECORDINGS_WAITING_MAX = 16;

/**
 * Lists, and what watchers of events missed, take half of the connections at most, so that slow ones, or ones that are
 * locked out, leave some to writes and leases (L4). So many more may wait, and as long as for a connection.
 */
const LISTS_OF_CONNECTIONS = 1 / 2;
const LISTS_WAITING_MAX = 1_000;

/** Every list by its name. */
const SOURCES: { readonly [N in ListName]: Source<ListRows[N]> } = {
  clusters: CLUSTERS,
  enrollment_keys: ENROLLMENT_KEYS,
  nodes: NODES,
  groups: GROUPS,
  aliases: ALIASES,
  commands: COMMANDS,
  command_executions: EXECUTIONS,
  self_update_requests: SELF_UPDATE_REQUESTS,
  self_update_results: SELF_UPDATE_RESULTS_SOURCE,
  ssh_usernames: SSH_USERNAMES,
  ssh_public_keys: SSH_PUBLIC_KEYS,
  ssh_recordings: SSH_RECORDINGS,
  webhooks: WEBHOOKS,
  webhook_deliveries: WEBHOOK_DELIVERIES,
};

/** The Reads port over these connections. */
export function createReads({ pool, vault, domain, ranges }: ReadsOptions): Reads {
  const anchors = new Map<Source<unknown>, PageAnchors>(
    ([COMMANDS, EXECUTIONS, SSH_USERNAMES, SSH_PUBLIC_KEYS, WEBHOOK_DELIVERIES] as readonly Source<unknown>[]).map(
      (source) => [source, createPageAnchors(pool, source)],
    ),
  );
  const reading = {
    pool,
    vault,
    domain,
    anchors,
    summaries: createSummaries(pool),
    recordingSemaphore: createSemaphore('reading a recording', RECORDINGS_AT_ONCE_MAX, RECORDINGS_WAITING_MAX),
  };
  const inTurn = createSemaphore(
    'listing',
    Math.max(1, Math.floor(pool.options.max * LISTS_OF_CONNECTIONS)),
    LISTS_WAITING_MAX,
    CONNECT_MS_MAX,
  );
  const found = lookUps(pool, vault);
  const idOf = async (name: ListName, key: string): Promise<string | null> => {
    if (name === 'clusters') return found.clusterId(key);
    return name === 'groups' ? ((await groupNamed(pool, key))?.id ?? null) : key;
  };
  return {
    ...found,
    ...credentials(pool),
    list: (name, query) => page(SOURCES[name], reading, query, inTurn),
    get: async (name, key) => {
      const id = await idOf(name, key);
      if (id === null || !isUuid(id)) return null;
      const [row] = await SOURCES[name].resources(reading, [id], true);
      return row ?? null;
    },
    freeRanges: () => freeRanges(pool, ranges),
    targets: targeter(pool),
    groupTargeting: async (name) => (await groupNamed(pool, name))?.targeting ?? null,
    delivery: (id) => deliveryOf(pool, id),
    deliveredEvent: (id) => deliveredEvent(pool, id),
    nodesAfter: (filters, after, limit) => keyedPage(NODES, reading, { filters, after, limit }, inTurn),
    eventsAfter: (cursor, limit) => eventsAfter(pool, cursor, limit),
    missedEvents: (cursor, limit) => inTurn(() => eventsAfter(pool, cursor, limit)),
    beforeLatest: (types, count) => inTurn(() => beforeLatest(pool, types, count)),
    nodeEvents: (query) => nodeEvents(pool, query, inTurn),
  };
}
