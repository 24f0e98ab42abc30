/** Feeds over a bus of their own, rows in memory and a clock that the test moves. */
import { createBus, type Bus } from '../../../actors/bus.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { StoredEvent } from '../../../actors/events.ts';
import type { ListQuery } from '../../../actors/filters.ts';
import type { CommandResource, ExecutionResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { createFeeds, type Feeds } from '../../../api/feeds/feeds.ts';
import { matchesNode } from '../../../api/feeds/node-filter.ts';
import type { ExecutionBrief, FeedReads, Tails } from '../../../api/feeds/ports.ts';
import { EVENTS_READ_BYTES_MAX } from '../../../persistence/reads/events.ts';
import { CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { createFeedClock, type FeedClock } from './feed-clock.ts';
import { silentLog } from '../log.ts';
import type { Page } from '../../../api/ports.ts';
import { PORTS } from '../actors.ts';

/** Everything that feeds see, for the test to change. */
export interface Fixture {
  readonly bus: Bus;
  readonly clock: FeedClock;
  readonly feeds: Feeds;
  readonly nodes: Map<string, NodeResource>;
  readonly commands: Map<string, CommandResource>;
  readonly executions: Map<string, ExecutionResource>;
  readonly events: StoredEvent[];
  readonly readCalls: { list: number; events: number };
  /** What agents stream: one entry an open stream. */
  readonly streams: {
    readonly node: string;
    readonly execution: string;
    readonly from: number;
    send(offset: number, text: string, end?: boolean): void;
    closed: boolean;
  }[];
  online: boolean;
  failing: boolean;
  /** Nodes that were read are answered once this resolves. At first at once. */
  listed: () => Promise<void>;
  /** At first not. */
  areAllEventsTold: boolean;
}

/** A fixture without nodes, commands, executions and events. `instead`: reads that its own ones give way to. */
export function createFixture(instead: Partial<FeedReads> = {}): Fixture {
  const clock = createFeedClock();
  const bus = createBus(silentLog);
  const fail = (): void => {
    if (fixture.failing) throw new DatabaseUnavailable('the database is away');
  };
  const reads: FeedReads = {
    list: (async (name: string, { filters, sort, pageSize }: ListQuery): Promise<Page<unknown>> => {
      await Promise.resolve();
      fail();
      if (name !== 'nodes') throw new Error(`unexpected list of ${name}`);
      fixture.readCalls.list += 1;
      const rows = [...fixture.nodes.values()].filter((node) => matchesNode(node, filters));
      if (sort[0]?.field === 'node_id') rows.sort(byId);
      await fixture.listed();
      return { rows: rows.slice(0, pageSize), totalCount: rows.length };
    }) as FeedReads['list'],
    async nodesAfter(filters, after, limit) {
      await Promise.resolve();
      fail();
      fixture.readCalls.list += 1;
      const rows = [...fixture.nodes.values()]
        .filter((node) => (after === null || node.id > after) && matchesNode(node, filters))
        .sort(byId)
        .slice(0, limit);
      await fixture.listed();
      return { rows, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
    },
    get: (async (name: string, key: string): Promise<unknown> => {
      await Promise.resolve();
      fail();
      return (name === 'commands' ? fixture.commands : fixture.executions).get(key) ?? null;
    }) as FeedReads['get'],
    async executionsOf(command, limit): Promise<readonly ExecutionBrief[]> {
      await Promise.resolve();
      return [...fixture.executions.values()]
        .filter((one) => one.command_id === command)
        .slice(0, limit)
        .map(briefOf);
    },
    async existingCommands(commands) {
      await Promise.resolve();
      fail();
      return new Set(commands.filter((id) => fixture.commands.has(id)));
    },
    async eventsAfter(cursor, limit) {
      await Promise.resolve();
      fail();
      fixture.readCalls.events += 1;
      if (cursor === null) return { events: [], cursor: fixture.events.at(-1)?.cursor ?? '0', bytes: 0, more: false };
      const found = fixture.events.filter((event) => Number(event.cursor) > Number(cursor)).slice(0, limit);
      let bytes = 0;
      const events = found.filter(({ data }, index) => {
        const size = JSON.stringify(data).length;
        const fits = index === 0 || bytes + size <= EVENTS_READ_BYTES_MAX;
        bytes += fits ? size : EVENTS_READ_BYTES_MAX; // and none behind it does
        return fits;
      });
      return {
        events,
        cursor: events.at(-1)?.cursor ?? cursor,
        bytes: events.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0),
        more: found.length === limit || events.length < found.length,
      };
    },
    missedEvents: (cursor, limit) => reads.eventsAfter(cursor, limit),
    async beforeLatest(types, count) {
      await Promise.resolve();
      fail();
      const wanted = fixture.events.filter(({ type }) => types.length === 0 || types.includes(type));
      const first = wanted.at(-count) ?? wanted[0];
      return first === undefined ? (fixture.events.at(-1)?.cursor ?? '0') : String(Number(first.cursor) - 1);
    },
  };
  const tails: Tails = {
    open(node, execution, from, onOutput) {
      if (!fixture.online) return null;
      const stream = {
        node,
        execution,
        from,
        closed: false,
        send: (offset: number, text: string, end = false) => onOutput({ offset, text, end }),
      };
      fixture.streams.push(stream);
      return () => {
        stream.closed = true;
      };
    },
  };
  const fixture: Fixture = {
    bus,
    clock,
    nodes: new Map(),
    commands: new Map(),
    executions: new Map(),
    events: [],
    readCalls: { list: 0, events: 0 },
    streams: [],
    online: true,
    failing: false,
    listed: () => Promise.resolve(),
    areAllEventsTold: false,
    feeds: createFeeds({
      news: bus,
      wantedChanged: () => undefined,
      areAllEventsTold: () => fixture.areAllEventsTold,
      reads: { ...reads, ...instead },
      tails,
      clock,
      log: silentLog,
      coreName: 'default',
    }),
  };
  return fixture;
}

/** When everything here happened. */
export const AT = '2026-11-21T09:00:00.000Z';

/** A v4-shaped id out of a small number. */
export function idOf(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** Ids out of small numbers. */
export const nodeId = (n: number): NodeId => NodeId.parse(idOf(n));
export const commandId = (n: number): CommandId => CommandId.parse(idOf(n));
export const executionId = (n: number): ExecutionId => ExecutionId.parse(idOf(n));

/** A healthy node. */
export function nodeOf(n: number, changes: Partial<NodeResource> = {}): NodeResource {
  return {
    id: idOf(n),
    name: idOf(n).slice(0, 8),
    cluster_name: 'demo',
    status: 'healthy',
    status_since: AT,
    status_reason: null,
    status_evidence: null,
    version: '1.0.0',
    id_type: 'persistent',
    vpn_hostname: `node-${idOf(n)}.demo.edge.internal`,
    aliases: [],
    ...PORTS,
    self_update_enabled: false,
    enrollment_key_id: null,
    facts: null,
    labels: {},
    last_seen_at: AT,
    inserted_at: AT,
    updated_at: AT,
    ...changes,
  };
}

/** A command on all nodes. */
export function commandOf(n: number): CommandResource {
  return {
    id: idOf(n),
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
    inserted_at: AT,
    updated_at: AT,
  };
}

/** A pending execution of a command, on a node of its own. */
export function executionOf(n: number, command: number, changes: Partial<ExecutionResource> = {}): ExecutionResource {
  return {
    id: idOf(n),
    command_id: idOf(command),
    node_id: idOf(n + 1_000),
    cluster_name: 'demo',
    command_text: 'true',
    timeout: null,
    status: 'pending',
    exit_code: null,
    output: null,
    output_truncated: false,
    output_withheld: false,
    target_all: true,
    expired_at: null,
    sent_at: null,
    completed_at: null,
    cancelled_at: null,
    inserted_at: AT,
    updated_at: AT,
    ...changes,
  };
}

function byId(one: NodeResource, other: NodeResource): number {
  return one.id < other.id ? -1 : 1;
}

function briefOf({ id, node_id, cluster_name, status, exit_code }: ExecutionResource): ExecutionBrief {
  return { id, node_id, cluster_name, status, exit_code };
}

/** Lets everything that is ready happen. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A reader whose messages gather as they come; `gone` ends it. */
export interface Watching<M> {
  readonly messages: M[];
  readonly ids: string[];
  gone(): void;
  readonly ended: Promise<void>;
}

/** Reads all there is, as fast as it comes. */
export function gather<M>(
  start: (signal: AbortSignal) => AsyncGenerator<{ readonly id: string; readonly data: M }, void, undefined>,
): Watching<M> {
  const controller = new AbortController();
  const messages: M[] = [];
  const ids: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { id, data } of start(controller.signal)) {
      messages.push(data);
      ids.push(id);
    }
  };
  return { messages, ids, gone: () => controller.abort(), ended: read() };
}

/** The value of a success. */
export async function granted<T>(
  result: Promise<
    { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: { readonly message: string } }
  >,
): Promise<T> {
  const settled = await result;
  if (!settled.ok) throw new Error(settled.refusal.message);
  return settled.value;
}
