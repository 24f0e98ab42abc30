/** Metrics as records: what a node does not tell is null, and nothing is made up. */
import test from 'ava';
import {
  type AgentMetrics,
  AgentMetricsResource,
  type HostMetrics,
  HostMetricsResource,
} from '../../../../actors/resources/node-metrics.ts';
import { samplesOf } from '../../../../transport/net/exposition/samples.ts';
import { AGENT_FAMILIES, agentMetrics } from '../../../../transport/metrics/agent-record.ts';
import { HOST_FAMILIES, hostMetrics } from '../../../../transport/metrics/host-record.ts';
import { humanDuration } from '../../../../transport/metrics/quantities.ts';

const host = (text: string): HostMetrics => hostMetrics(samplesOf(text, HOST_FAMILIES));
const agent = (text: string): AgentMetrics => agentMetrics(samplesOf(text, AGENT_FAMILIES));

const NOTHING = {
  total_bytes: null,
  available_bytes: null,
  used_bytes: null,
  total_gb: null,
  available_gb: null,
  used_gb: null,
  usage_percent: null,
};
const MEASURED = {
  node_id: '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01',
  cluster_name: 'fleet',
  timestamp: '2026-01-15T10:00:00.000Z',
};

const HOST = `# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 10.5
node_cpu_seconds_total{cpu="0",mode="user"} 2
node_cpu_seconds_total{cpu="1",mode="idle"} 11
node_load1 0.31
node_load5 0.5
node_load15 1e-1
node_memory_MemTotal_bytes 8.589934592e+09
node_memory_MemFree_bytes 1000
node_memory_MemAvailable_bytes 6.442450944e+09
node_filesystem_size_bytes{device="/dev/sdb1",fstype="ext4",mountpoint="/data"} 5
node_filesystem_size_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 1.073741824e+10
node_filesystem_avail_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 3.221225472e+09
node_time_seconds 1.7000936665e+09
node_boot_time_seconds 1.7e+09
`;

test('what a machine measures is read into a record', (t) => {
  const record = host(HOST);

  t.deepEqual(record, {
    cpu: { cores: 2, load_1m: 0.31, load_5m: 0.5, load_15m: 0.1 },
    memory: {
      total_bytes: 8_589_934_592,
      available_bytes: 6_442_450_944,
      used_bytes: 2_147_483_648,
      total_gb: 8,
      available_gb: 6,
      used_gb: 2,
      usage_percent: 25,
    },
    disk: {
      total_bytes: 10_737_418_240,
      available_bytes: 3_221_225_472,
      used_bytes: 7_516_192_768,
      total_gb: 10,
      available_gb: 3,
      used_gb: 7,
      usage_percent: 70,
    },
    uptime: { seconds: 93_666, human: '1d 2h 1m' },
  });
  t.deepEqual(HostMetricsResource.parse({ ...MEASURED, ...record }), { ...MEASURED, ...record });
});

test('a machine that tells nothing, or nonsense, is null everywhere and zero nowhere', (t) => {
  const empty: HostMetrics = {
    cpu: { cores: null, load_1m: null, load_5m: null, load_15m: null },
    memory: NOTHING,
    disk: NOTHING,
    uptime: { seconds: null, human: null },
  };

  t.deepEqual(host(''), empty);
  t.deepEqual(
    host(
      'node_load1 NaN\nnode_load5 +Inf\nnode_memory_MemTotal_bytes -1\nnode_memory_MemAvailable_bytes 1e300\nnode_filesystem_size_bytes{mountpoint="/home"} 1\nnode_boot_time_seconds 5\n',
    ),
    empty,
  );
  t.deepEqual(
    host(
      'node_memory_MemTotal_bytes 100\nnode_memory_MemAvailable_bytes 101\nnode_time_seconds 1\nnode_boot_time_seconds 5\n',
    ),
    {
      ...empty,
      memory: { ...NOTHING, total_bytes: 100, available_bytes: 101, total_gb: 0, available_gb: 0 },
    },
  );
});

const AGENT = `edge_agent_uptime_seconds 61.4
edge_agent_memory_bytes{kind="resident"} 52428800
edge_agent_memory_bytes{kind="heap"} 10485760
edge_agent_memory_bytes{kind="external"} 1048576
edge_agent_memory_bytes{kind="array_buffers"} 524288
edge_agent_processes 3
edge_agent_executions_enqueued_total 9
edge_agent_executions_completed_total 8
edge_agent_executions_reported_total 7
edge_agent_executions_synced_total 6
edge_agent_admin_scans_total 2
edge_agent_admins_found 1
edge_agent_queue_executions{queue="commands",state="available"} 1
edge_agent_queue_executions{queue="commands",state="executing"} 2
edge_agent_queue_executions{queue="commands",state="completed"} 3
edge_agent_queue_executions{queue="commands",state="discarded"} 4
edge_agent_queue_executions{queue="commands",state="retryable"} 5
edge_agent_proxy_bytes_total{direction="up"} 1048576
edge_agent_proxy_bytes_total{direction="down"} 0
edge_agent_proxy_connections_total{proxy="http"} 4
edge_agent_proxy_connections_total{proxy="socks5"} 0
edge_agent_proxy_blocked_total{proxy="http",reason="blocked"} 2
edge_agent_proxy_blocked_total{proxy="http",reason="unauthorized"} 1
edge_agent_proxy_tunnels_closed_total{reason="normal"} 5
edge_agent_proxy_tunnels_closed_total{reason="deadline"} 1
edge_agent_proxy_tunnels_closed_total{reason="drain_timeout"} 0
edge_agent_ssh_authentications_total 3
edge_agent_ssh_connections_total 4
`;

test('what an agent counts is read into a record', (t) => {
  const record = agent(AGENT);

  t.deepEqual(record, {
    application: {
      memory_binary_bytes: 524_288,
      memory_binary_mb: 0.5,
      memory_ets_bytes: 1_048_576,
      memory_ets_mb: 1,
      memory_processes_bytes: 10_485_760,
      memory_processes_mb: 10,
      memory_total_bytes: 52_428_800,
      memory_total_mb: 50,
      process_count: 3,
      uptime_seconds: 61,
      uptime_human: '1m 1s',
    },
    commands: { completed_total: 8, enqueued_total: 9, reported_total: 7, synced_total: 6 },
    discovery: { admins_found_last: 1, scans_total: 2 },
    health_check: { reports_total: null },
    oban_queues: [{ queue: 'commands', available: 1, completed: 3, discarded: 4, executing: 2, retryable: 5 }],
    proxy: {
      bytes_up_total: 1_048_576,
      bytes_down_total: 0,
      bytes_up_mb: 1,
      bytes_down_mb: 0,
      http_connections_total: 4,
      http_blocked_total: 3,
      http_blocked_by_reason: { blocked: 2, unauthorized: 1 },
      socks5_connections_total: 0,
      socks5_blocked_total: 0,
      socks5_blocked_by_reason: {},
      tunnels_closed_total: 6,
      tunnels_closed_normal_total: 5,
      tunnels_closed_deadline_total: 1,
      tunnels_closed_drain_timeout_total: 0,
    },
    ssh: { authentications_total: 3, connections_total: 4 },
    vpn: { pulls_total: null },
  });
  t.deepEqual(AgentMetricsResource.parse({ ...MEASURED, ...record }), { ...MEASURED, ...record });
});

test('an agent that tells nothing is null everywhere, and one that tells too much is cut short', (t) => {
  const leaves = (value: unknown): unknown[] =>
    value !== null && typeof value === 'object' ? Object.values(value).flatMap(leaves) : [value];
  t.deepEqual([...new Set(leaves(agent('')))], [null]);

  const much = agent(
    Array.from(
      { length: 5_000 },
      (_, index) =>
        `edge_agent_proxy_blocked_total{proxy="http",reason="r${index}"} 1\nedge_agent_queue_executions{queue="q${index}",state="available"} 1\n`,
    ).join('') +
      'edge_agent_proxy_blocked_total{proxy="socks5",reason="__proto__"} 1\nedge_agent_proxy_blocked_total{proxy="socks5",reason="\\n100.64.0.1 \\""} 1\n' +
      'edge_agent_proxy_blocked_total{proxy="socks5",reason="100.64.7.7"} 1\nedge_agent_proxy_blocked_total{proxy="socks5",reason="fd00::7"} 1\n',
  );
  t.deepEqual(
    [
      Object.keys(much.proxy.http_blocked_by_reason ?? {}).length,
      much.proxy.http_blocked_total,
      much.oban_queues.length,
    ],
    [64, 5_000, 64],
  );
  t.is(JSON.stringify([much.proxy.socks5_blocked_total, much.proxy.socks5_blocked_by_reason]), '[4,{"__proto__":1}]');
});

test('durations are written for people', (t) => {
  t.deepEqual([null, 0, 59.9, 60, 3_599, 3_600, 86_399, 86_400, 1e7].map(humanDuration), [
    null,
    '0s',
    '59s',
    '1m 0s',
    '59m 59s',
    '1h 0m',
    '23h 59m',
    '1d 0h 0m',
    '115d 17h 46m',
  ]);
});
