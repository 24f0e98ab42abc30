/**
 * What each alert is for: series of two hours at which it fires, and series that are near it and at which it does not.
 */

import { ADMIN_ALERT_CASES } from './admin-alert-cases.ts';
import { ADMIN, always, inTurns, lately, LIAR, rising, type AlertCase } from './alert-series.ts';

const NODE = 'node_id="n",cluster="c",instance="n"';
const DISK = `${NODE},device="/dev/sda1",fstype="ext4",mountpoint="/"`;

const request = (kind: string, labels: string): string =>
  `edge_admin_request_duration_seconds_${kind}{${ADMIN},${labels}}`;

/** Each publishes for a minute, reaches no broker, and leaves the channel to the other one. */
const BROKER_DOWN_IN_TURNS = inTurns(0);

/** By the name of the alert. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  ...ADMIN_ALERT_CASES,
  EdgeRequestsFail: {
    fires: {
      [request('count', 'surface="rest",operation="create_command",code="5xx"')]: rising(60),
      [request('count', 'surface="rest",operation="create_command",code="2xx"')]: rising(60),
    },
    quiet: {
      [request('count', 'surface="rest",operation="create_command",code="5xx"')]: rising(6),
      [request('count', 'surface="rest",operation="create_command",code="2xx"')]: rising(600),
      [request('count', 'surface="rest",operation="get_host_metrics",code="5xx"')]: rising(600),
      [request('count', 'surface="trpc",operation="scrape_host_metrics",code="5xx"')]: rising(600),
      [request('count', 'surface="other",operation="/api/v1/nodes/:node_id/metrics/host/raw",code="5xx"')]: rising(600),
    },
  },
  EdgeRequestsSlow: {
    fires: {
      [request('bucket', 'surface="rest",operation="list_nodes",code="2xx",le="1"')]: rising(10),
      [request('bucket', 'surface="rest",operation="list_nodes",code="2xx",le="5"')]: rising(60),
      [request('bucket', 'surface="rest",operation="list_nodes",code="2xx",le="+Inf"')]: rising(60),
    },
    quiet: {
      [request('bucket', 'surface="rest",operation="list_nodes",code="2xx",le="1"')]: rising(60),
      [request('bucket', 'surface="rest",operation="list_nodes",code="2xx",le="+Inf"')]: rising(60),
      [request('bucket', 'surface="rest",operation="get_node_diagnostics",code="2xx",le="1"')]: rising(0),
      [request('bucket', 'surface="rest",operation="get_node_diagnostics",code="2xx",le="+Inf"')]: rising(60),
    },
  },
  EdgeSessionsLost: {
    fires: { [`edge_admin_sessions{${ADMIN}}`]: lately(100, 50), [`edge_admin_sessions{${LIAR}}`]: always(1e9) },
    quiet: {
      [`edge_admin_sessions{${ADMIN}}`]: lately(100, 40),
      'edge_admin_sessions{job="edge-admin",instance="b"}': lately(0, 60),
    },
  },
  EdgeSessionsCut: {
    fires: { [`edge_admin_sessions_cut_total{${ADMIN}}`]: rising(60) },
    quiet: { [`edge_admin_sessions_cut_total{${ADMIN}}`]: rising(1) },
  },
  EdgeEventsBacklog: {
    fires: {
      [`edge_admin_events_backlog{${ADMIN},channel="webhooks"}`]: always(20_000),
      'edge_admin_events_backlog{job="edge-admin",instance="b",channel="webhooks"}': always(20_000),
    },
    quiet: { [`edge_admin_events_backlog{${ADMIN},channel="webhooks"}`]: always(500) },
  },
  EdgeWebhooksFail: {
    fires: {
      [`edge_admin_webhook_deliveries_total{${ADMIN},outcome="5xx"}`]: rising(60),
      [`edge_admin_webhook_deliveries_total{${ADMIN},outcome="2xx"}`]: rising(30),
    },
    quiet: {
      [`edge_admin_webhook_deliveries_total{${ADMIN},outcome="5xx"}`]: rising(30),
      [`edge_admin_webhook_deliveries_total{${ADMIN},outcome="2xx"}`]: rising(60),
    },
  },
  EdgeBrokerDown: {
    stepS: 30,
    fires: {
      [`edge_admin_broker_up{${ADMIN}}`]: BROKER_DOWN_IN_TURNS[0],
      'edge_admin_broker_up{job="edge-admin",instance="b"}': BROKER_DOWN_IN_TURNS[1],
      [`edge_admin_broker_up{${LIAR}}`]: always(1, 260),
    },
    quiet: { [`edge_admin_broker_up{${ADMIN}}`]: always(1, 260) },
  },
  EdgeSshLoginsRefused: {
    fires: { [`edge_admin_ssh_logins_total{${ADMIN},outcome="refused"}`]: rising(120) },
    quiet: {
      [`edge_admin_ssh_logins_total{${ADMIN},outcome="refused"}`]: rising(6),
      [`edge_admin_ssh_logins_total{${ADMIN},outcome="accepted"}`]: rising(600),
    },
  },
  EdgeProxyCredentialsWrong: {
    fires: { [`edge_admin_proxy_blocked_total{${ADMIN},proxy="http",reason="credentials"}`]: rising(120) },
    quiet: {
      [`edge_admin_proxy_blocked_total{${ADMIN},proxy="http",reason="credentials"}`]: rising(6),
      [`edge_admin_proxy_blocked_total{${ADMIN},proxy="http",reason="blocked"}`]: rising(600),
    },
  },
  EdgeScrapesFail: {
    fires: {
      [`edge_admin_scrapes_total{${ADMIN},source="host",outcome="slow"}`]: rising(60),
      [`edge_admin_scrapes_total{${ADMIN},source="host",outcome="ok"}`]: rising(60),
    },
    quiet: {
      [`edge_admin_scrapes_total{${ADMIN},source="host",outcome="slow"}`]: rising(6),
      [`edge_admin_scrapes_total{${ADMIN},source="host",outcome="ok"}`]: rising(600),
    },
  },
  EdgeFleetUnreachable: {
    fires: {
      [`edge_admin_nodes{${ADMIN},status="unreachable"}`]: always(30),
      [`edge_admin_nodes{${ADMIN},status="healthy"}`]: always(70),
      'edge_admin_nodes{job="edge-admin",instance="b",status="healthy"}': always(70),
      [`edge_admin_nodes{${LIAR},status="healthy"}`]: always(1e9),
    },
    quiet: {
      [`edge_admin_nodes{${ADMIN},status="unreachable"}`]: always(10),
      [`edge_admin_nodes{${ADMIN},status="healthy"}`]: always(90),
    },
  },
  EdgeNodesUnhealthy: {
    fires: { [`edge_admin_nodes{${ADMIN},status="unhealthy"}`]: always(1) },
    quiet: { [`edge_admin_nodes{${ADMIN},status="unhealthy"}`]: always(0) },
  },
  EdgeNodeNotSeen: {
    fires: {
      [`up{job="edge-host",${NODE}}`]: always(0),
      [`up{${ADMIN}}`]: always(0),
      'up{instance="b",job="edge-admin"}': always(1),
    },
    quiet: { [`up{job="edge-host",${NODE}}`]: always(0), [`up{${ADMIN}}`]: always(0) },
  },
  EdgeServiceDown: {
    fires: { [`edge_agent_service_up{${NODE},service="disk"}`]: always(0) },
    quiet: { [`edge_agent_service_up{${NODE},service="disk"}`]: always(1) },
  },
  EdgeResultsNotConfirmed: {
    fires: { [`edge_agent_queue_executions{${NODE},queue="commands",state="retryable"}`]: always(2) },
    quiet: {
      [`edge_agent_queue_executions{${NODE},queue="commands",state="retryable"}`]: lately(0, 2),
      [`edge_agent_queue_executions{${NODE},queue="commands",state="executing"}`]: always(9),
    },
  },
  EdgeCommandsWait: {
    fires: { [`edge_agent_queue_executions{${NODE},queue="commands",state="available"}`]: always(2) },
    quiet: { [`edge_agent_queue_executions{${NODE},queue="commands",state="available"}`]: lately(0, 9) },
  },
  EdgeAgentRestarts: {
    fires: { [`process_start_time_seconds{job="edge-agent",${NODE}}`]: rising(1) },
    quiet: {
      [`process_start_time_seconds{job="edge-agent",${NODE}}`]: lately(5, 6),
      [`process_start_time_seconds{job="edge-host",${NODE}}`]: rising(1),
    },
  },
  EdgeAgentReconnects: {
    fires: { [`edge_agent_reconnects_total{${NODE}}`]: rising(1) },
    quiet: { [`edge_agent_reconnects_total{${NODE}}`]: lately(0, 3) },
  },
  EdgeAgentMemoryHigh: {
    fires: { [`edge_agent_memory_bytes{${NODE},kind="resident"}`]: always(600_000_000) },
    quiet: { [`edge_agent_memory_bytes{${NODE},kind="resident"}`]: always(100_000_000) },
  },
  EdgeHostDiskFull: {
    fires: {
      [`node_filesystem_avail_bytes{${DISK}}`]: always(5),
      [`node_filesystem_size_bytes{${DISK}}`]: always(100),
      [`node_filesystem_readonly{${DISK}}`]: always(0),
    },
    quiet: {
      [`node_filesystem_avail_bytes{${DISK}}`]: always(0),
      [`node_filesystem_size_bytes{${DISK}}`]: always(100),
      [`node_filesystem_readonly{${DISK}}`]: always(1),
    },
  },
  EdgeHostDiskFills: {
    fires: {
      [`node_filesystem_avail_bytes{${DISK}}`]: '240-1x130',
      [`node_filesystem_size_bytes{${DISK}}`]: always(1_000),
      [`node_filesystem_readonly{${DISK}}`]: always(0),
    },
    quiet: {
      [`node_filesystem_avail_bytes{${DISK}}`]: always(120),
      [`node_filesystem_size_bytes{${DISK}}`]: always(1_000),
      [`node_filesystem_readonly{${DISK}}`]: always(0),
    },
  },
  EdgeHostInodesGone: {
    fires: {
      [`node_filesystem_files_free{${DISK}}`]: always(2),
      [`node_filesystem_files{${DISK}}`]: always(100),
      [`node_filesystem_readonly{${DISK}}`]: always(0),
    },
    quiet: {
      [`node_filesystem_files_free{${DISK}}`]: always(0),
      [`node_filesystem_files{${DISK}}`]: always(0),
      [`node_filesystem_readonly{${DISK}}`]: always(0),
    }, // file systems that make inodes as they need them
  },
  EdgeHostMemoryLow: {
    fires: {
      [`node_memory_MemAvailable_bytes{${NODE}}`]: always(3),
      [`node_memory_MemTotal_bytes{${NODE}}`]: always(100),
    },
    quiet: {
      [`node_memory_MemAvailable_bytes{${NODE}}`]: always(10),
      [`node_memory_MemTotal_bytes{${NODE}}`]: always(100),
    },
  },
  EdgeHostOutOfMemory: {
    fires: { [`node_vmstat_oom_kill{${NODE}}`]: lately(0, 1) },
    quiet: { [`node_vmstat_oom_kill{${NODE}}`]: always(4) },
  },
  EdgeHostClockWrong: {
    fires: { [`node_time_seconds{${NODE}}`]: '100+60x130' },
    quiet: { [`node_time_seconds{${NODE}}`]: '5+60x130' },
  },
  EdgeWireguardInterfaceDown: {
    fires: { [`wireguard_interface_up{${NODE},interface="wg0"}`]: always(0) },
    quiet: { [`wireguard_interface_up{${NODE},interface="wg0"}`]: always(1) },
  },
  EdgeWireguardPeerSilent: {
    fires: {
      [`wireguard_latest_handshake_seconds{${NODE},interface="wg0",public_key="k",friendly_name="o"}`]: always(0),
      [`wireguard_sent_bytes_total{${NODE},interface="wg0",public_key="k",friendly_name="o"}`]: rising(1_000),
      'up{job="edge-host",instance="o",node_id="o"}': always(1),
      'up{job="edge-host",instance="p",node_id="p"}': always(0),
    },
    quiet: {
      [`wireguard_latest_handshake_seconds{${NODE},interface="wg0",public_key="k",friendly_name=""}`]: always(0),
      [`wireguard_sent_bytes_total{${NODE},interface="wg0",public_key="k",friendly_name=""}`]: always(5),
      [`wireguard_latest_handshake_seconds{${NODE},interface="wg0",public_key="l",friendly_name="o"}`]: always(0),
      [`wireguard_sent_bytes_total{${NODE},interface="wg0",public_key="l",friendly_name="o"}`]: rising(1_000),
      'up{job="edge-host",instance="o",node_id="o"}': always(0),
    },
  },
};
