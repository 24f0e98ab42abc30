/**
 * What the agent tells of itself, as metrics. Every number counts from the start of this program; what each means is in
 * docs/metrics.md.
 */
import { readdirSync } from 'node:fs';
import { Exposition } from '../../../transport/net/exposition/exposition.ts';
import type { EgressCounts } from '../../access/egress/dialler.ts';
import type { Service } from '../health.ts';
import type { JournalCounts } from '../../execution/execution.ts';
import type { AgentProxies } from '../../access/proxies/proxies.ts';
import type { SessionCounters } from '../../session/session-counters.ts';
import type { SshServer } from '../../access/ssh/server.ts';
import type { UpdateCounters } from '../../update/updates.ts';

/** What is asked at a scrape. Null: this part is off, and its metrics are absent. */
export interface OwnMetricsSources {
  readonly version: string;
  readonly idType: string;
  readonly journal: () => JournalCounts;
  /** Processes that keep running commands. */
  readonly shims: () => number;
  readonly session: () => SessionCounters;
  /** URLs of admins that are known now. */
  readonly adminUrls: () => number;
  readonly tunnelStreams: () => number;
  readonly egress: () => EgressCounts;
  readonly proxies: (() => Pick<AgentProxies['servers'], 'http' | 'socks5' | 'tunnels' | 'bytes'>) | null;
  readonly ssh: (() => SshServer['counters']) | null;
  /** Those of the health report. */
  readonly services: () => readonly Service[];
  readonly updates: () => UpdateCounters;
}

/** Words of the metrics for the ends of a tunnel, where they differ. Source: docs/metrics.md. */
const ENDS: Readonly<Record<string, string>> = { drain: 'drain_timeout' };

/** What can come of an update. Source: transport/protocol/updates.ts. */
const UPDATE_OUTCOMES = ['updated', 'rolled_back', 'unchanged'] as const;

/** The agent's own metrics as text. */
export async function ownMetrics(sources: OwnMetricsSources): Promise<string> {
  const exposition = new Exposition();
  exposition
    .family('edge_agent_info', 'gauge', 'The version of the agent and the kind of its identity, as labels.')
    .sample('edge_agent_info', 1, { version: sources.version, id_type: sources.idType });
  addProgram(exposition, await lagSeconds());
  exposition.single(
    'edge_agent_processes',
    'gauge',
    'Processes of this agent: itself, and those that keep running commands.',
    1 + sources.shims(),
  );
  addExecutions(exposition, sources.journal(), sources.session());
  addSession(exposition, sources.session(), sources.adminUrls());
  addServices(exposition, sources.services());
  addUpdates(exposition, sources.updates());
  addEgress(exposition, sources.egress(), sources.tunnelStreams());
  if (sources.proxies !== null) addProxies(exposition, sources.proxies());
  if (sources.ssh !== null) addSsh(exposition, sources.ssh());
  return exposition.toString();
}

function addProgram(exposition: Exposition, lag: number): void {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  exposition.single('edge_agent_uptime_seconds', 'gauge', 'Seconds since the agent started.', process.uptime());
  // Of V8's memory outside its heap, buffers are a part.
  counted(
    exposition,
    'edge_agent_memory_bytes',
    'gauge',
    'Memory of the agent: resident is all of it, the others are parts of that.',
    'kind',
    {
      resident: rss,
      heap: heapUsed,
      external: Math.max(0, external - arrayBuffers),
      array_buffers: arrayBuffers,
    },
  );
  exposition
    .single(
      'edge_agent_event_loop_lag_seconds',
      'gauge',
      'How long what was ready to run waited for its turn, at this scrape.',
      lag,
    )
    .single(
      'process_cpu_seconds_total',
      'counter',
      'Processor time of the agent, in user and system mode, in seconds.',
      (user + system) / 1e6,
    )
    .single(
      'process_start_time_seconds',
      'gauge',
      'When the agent started, as Unix time in seconds.',
      performance.timeOrigin / 1_000,
    )
    .single('process_open_fds', 'gauge', 'Open file descriptors of the agent.', openFiles());
}

function addExecutions(exposition: Exposition, journal: JournalCounts, session: SessionCounters): void {
  exposition
    .single('edge_agent_executions_enqueued_total', 'counter', 'Executions taken in durably.', journal.received)
    .single(
      'edge_agent_executions_completed_total',
      'counter',
      'Executions that ended, cancelled ones included.',
      journal.completed + journal.cancelled,
    )
    .single(
      'edge_agent_executions_reported_total',
      'counter',
      'Results sent; those that go out again after a lost connection count again.',
      session.reported,
    )
    .single('edge_agent_executions_synced_total', 'counter', 'Results that an admin confirmed.', session.confirmed)
    .family(
      'edge_agent_queue_executions',
      'gauge',
      'Executions here by state: waiting, running, completed or discarded (cancelled, expired) since the start, ended but not confirmed (retryable).',
    );
  const states = {
    available: journal.waiting,
    executing: journal.started,
    completed: journal.completed,
    discarded: journal.cancelled + journal.dropped,
    retryable: journal.unconfirmed,
  };
  for (const [state, value] of Object.entries(states))
    exposition.sample('edge_agent_queue_executions', value, { queue: 'commands', state });
}

function addSession(exposition: Exposition, { dials, welcomes }: SessionCounters, adminUrls: number): void {
  exposition
    .single(
      'edge_agent_admin_scans_total',
      'counter',
      'Times that the agent went for an admin of its list to connect to it.',
      dials,
    )
    .single('edge_agent_admins_found', 'gauge', 'URLs of admins that the agent knows now.', adminUrls)
    .single(
      'edge_agent_reconnects_total',
      'counter',
      'Sessions with an admin after the first one.',
      Math.max(0, welcomes - 1),
    );
}

function addServices(exposition: Exposition, services: readonly Service[]): void {
  counted(
    exposition,
    'edge_agent_service_up',
    'gauge',
    'Whether a part of the agent works, as in its health report.',
    'service',
    Object.fromEntries(services.map(({ name, problem }) => [name, problem() === null ? 1 : 0])),
  );
}

function addUpdates(exposition: Exposition, { asked, accepted, refused, lastOutcome }: UpdateCounters): void {
  exposition.single(
    'edge_agent_update_requests_total',
    'counter',
    'Self-update requests that an admin sent, each once.',
    asked,
  );
  counted(
    exposition,
    'edge_agent_update_answers_total',
    'counter',
    'What they were answered: the updater took the signal, or did not.',
    'answer',
    { accepted, refused },
  );
  counted(
    exposition,
    'edge_agent_update_last_outcome',
    'gauge',
    'What the updater says came of the last update: 1 at one outcome, 0 at the others, and at all while none is known.',
    'outcome',
    Object.fromEntries(UPDATE_OUTCOMES.map((outcome) => [outcome, Number(outcome === lastOutcome)])),
  );
}

function addEgress(exposition: Exposition, { failures }: EgressCounts, streams: number): void {
  exposition.single('edge_agent_tunnel_streams', 'gauge', 'Streams that are open in the tunnels from admins.', streams);
  counted(
    exposition,
    'edge_agent_exit_failures_total',
    'counter',
    'Connections out of this machine that did not come about, for admins, proxies and SSH users.',
    'reason',
    failures,
  );
}

function addProxies(
  exposition: Exposition,
  { http, socks5, tunnels, bytes }: ReturnType<NonNullable<OwnMetricsSources['proxies']>>,
): void {
  const servers = { http: http.counters, socks5: socks5.counters };
  const { up, down } = bytes();
  counted(
    exposition,
    'edge_agent_proxy_bytes_total',
    'counter',
    'Bytes through the proxies of this machine, to targets (up) and back.',
    'direction',
    { up, down },
  );
  counted(
    exposition,
    'edge_agent_proxy_connections_total',
    'counter',
    'Connections that came to the proxies.',
    'proxy',
    { http: servers.http.connections, socks5: servers.socks5.connections },
  );
  exposition.family('edge_agent_proxy_blocked_total', 'counter', 'Clients that the proxies turned away.');
  for (const [proxy, { blocked }] of Object.entries(servers)) {
    for (const [reason, value] of Object.entries(blocked))
      exposition.sample('edge_agent_proxy_blocked_total', value, { proxy, reason });
  }
  counted(
    exposition,
    'edge_agent_proxy_tunnels_closed_total',
    'counter',
    'Tunnels of the proxies that ended, by cause.',
    'reason',
    Object.fromEntries(Object.entries(tunnels.ends).map(([end, value]) => [ENDS[end] ?? end, value])),
  );
}

function addSsh(exposition: Exposition, { authentications, connections }: SshServer['counters']): void {
  exposition
    .single(
      'edge_agent_ssh_authentications_total',
      'counter',
      'Logins tried at the SSH server of this machine.',
      authentications,
    )
    .single('edge_agent_ssh_connections_total', 'counter', 'Connections that came to it.', connections);
}

/** A family with one label. */
function counted(
  exposition: Exposition,
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): void {
  exposition.family(name, type, help);
  for (const [value, count] of Object.entries(values)) exposition.sample(name, count, { [label]: value });
}

/**
 * Time until the event loop comes to what is ready. Measured at the scrape alone: a timer that runs all the time would
 * wake idle machines.
 */
async function lagSeconds(): Promise<number> {
  const beganMs = performance.now();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return (performance.now() - beganMs) / 1_000;
}

function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length - 1; // the directory itself is open while it is read
  } catch {
    return null; // there is no /proc here
  }
}
