/** One node: its host, its agent, its WireGuard interfaces. */
import { area, CLUSTERS, stat, time } from './layout.ts';
import type { Dashboard } from './layout.ts';

const OF = 'node_id="$node"';
const REAL = `fstype!~"tmpfs|ramfs|squashfs|iso9660|erofs",${OF}`;

/** The dashboard. */
export const node: Dashboard = {
  uid: 'edge-node',
  title: 'Edge: node',
  description:
    'One node: host, agent, WireGuard. The dashboards of node_exporter work for hosts, too: their instance is the id of the node.',
  variables: [
    CLUSTERS,
    {
      name: 'node',
      label: 'Node',
      values: 'label_values(edge_agent_info{cluster=~"$cluster"}, node_id)',
      isMany: false,
    },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Host up for', 's', `time() - node_boot_time_seconds{${OF}}`),
        stat('Agent up for', 's', `edge_agent_uptime_seconds{${OF}}`),
        stat('Version of the agent', 'none', `edge_agent_info{${OF}}`, { isName: true, legend: '{{version}}' }),
        stat('System', 'none', `node_uname_info{${OF}}`, { isName: true, legend: '{{release}} {{machine}}' }),
        stat('Parts that do not work', 'short', `sum(edge_agent_service_up{${OF}} == bool 0)`, { badFrom: 1 }),
        stat('Results not taken by an admin', 'short', `sum(edge_agent_queue_executions{state="retryable",${OF}})`, {
          badFrom: 1,
        }),
      ],
    },
    {
      title: 'Host',
      panels: [
        area('Processor', 'percentunit', [
          `sum by (mode) (rate(node_cpu_seconds_total{mode!="idle",${OF}}[$__rate_interval])) / scalar(count(node_cpu_seconds_total{mode="idle",${OF}}))`,
          '{{mode}}',
        ]),
        time(
          'Load',
          'short',
          [`node_load1{${OF}}`, '1 min'],
          [`node_load5{${OF}}`, '5 min'],
          [`node_load15{${OF}}`, '15 min'],
        ),
        time(
          'Memory',
          'bytes',
          [`node_memory_MemTotal_bytes{${OF}}`, 'total'],
          [`node_memory_MemAvailable_bytes{${OF}}`, 'available'],
          [`node_memory_SwapTotal_bytes{${OF}} - node_memory_SwapFree_bytes`, 'swapped'],
        ),
        {
          ...time(
            'Pressure',
            'percentunit',
            [`rate(node_pressure_cpu_waiting_seconds_total{${OF}}[$__rate_interval])`, 'processor'],
            [`rate(node_pressure_memory_waiting_seconds_total{${OF}}[$__rate_interval])`, 'memory'],
            [`rate(node_pressure_io_waiting_seconds_total{${OF}}[$__rate_interval])`, 'disk'],
          ),
          description: 'Share of the time in which something waited for it.',
        },
        time('Left on filesystems', 'percentunit', [
          `node_filesystem_avail_bytes{${REAL}} / node_filesystem_size_bytes`,
          '{{mountpoint}}',
        ]),
        time(
          'Disks',
          'Bps',
          [`rate(node_disk_read_bytes_total{${OF}}[$__rate_interval])`, '{{device}} read'],
          [`rate(node_disk_written_bytes_total{${OF}}[$__rate_interval])`, '{{device}} written'],
        ),
        time('Disks, busy', 'percentunit', [
          `rate(node_disk_io_time_seconds_total{${OF}}[$__rate_interval])`,
          '{{device}}',
        ]),
        time(
          'Network',
          'Bps',
          [`rate(node_network_receive_bytes_total{device!="lo",${OF}}[$__rate_interval])`, '{{device}} received'],
          [`rate(node_network_transmit_bytes_total{device!="lo",${OF}}[$__rate_interval])`, '{{device}} sent'],
        ),
        time(
          'TCP',
          'short',
          [`node_netstat_Tcp_CurrEstab{${OF}}`, 'connections'],
          [`rate(node_netstat_Tcp_RetransSegs{${OF}}[$__rate_interval])`, 'segments sent again, a second'],
        ),
      ],
    },
    {
      title: 'Agent',
      panels: [
        {
          ...area('Commands here', 'short', [
            `sum by (state) (edge_agent_queue_executions{state=~"available|executing|retryable",${OF}})`,
            '{{state}}',
          ]),
          description: 'available: waiting; executing: running; retryable: ended, and not confirmed by an admin.',
        },
        time(
          'Commands',
          'ops',
          [`rate(edge_agent_executions_enqueued_total{${OF}}[$__rate_interval])`, 'taken in'],
          [`rate(edge_agent_executions_completed_total{${OF}}[$__rate_interval])`, 'ended'],
          [`rate(edge_agent_executions_reported_total{${OF}}[$__rate_interval])`, 'results sent'],
          [`rate(edge_agent_executions_synced_total{${OF}}[$__rate_interval])`, 'results confirmed'],
        ),
        time(
          'Session',
          'short',
          [`increase(edge_agent_reconnects_total{${OF}}[$__rate_interval])`, 'reconnections'],
          [`increase(edge_agent_admin_scans_total{${OF}}[$__rate_interval])`, 'tries to connect'],
          [`edge_agent_admins_found{${OF}}`, 'admins known'],
        ),
        time('Memory', 'bytes', [`edge_agent_memory_bytes{${OF}}`, '{{kind}}']),
        time('Processor', 'percentunit', [
          `rate(process_cpu_seconds_total{job="edge-agent",${OF}}[$__rate_interval])`,
          'of one core',
        ]),
        time('Event loop', 's', [`edge_agent_event_loop_lag_seconds{${OF}}`, 'lag']),
        time(
          'Processes and files',
          'short',
          [`edge_agent_processes{${OF}}`, 'processes'],
          [`process_open_fds{job="edge-agent",${OF}}`, 'open files'],
        ),
        time('Parts that work', 'short', [`edge_agent_service_up{${OF}}`, '{{service}}']),
      ],
    },
    {
      title: 'People and streams',
      panels: [
        time('Bytes through its proxies', 'Bps', [
          `rate(edge_agent_proxy_bytes_total{${OF}}[$__rate_interval])`,
          '{{direction}}',
        ]),
        time(
          'Clients of its proxies',
          'ops',
          [`rate(edge_agent_proxy_connections_total{${OF}}[$__rate_interval])`, '{{proxy}}'],
          [
            `sum by (proxy, reason) (rate(edge_agent_proxy_blocked_total{${OF}}[$__rate_interval])) > 0`,
            '{{proxy}} turned away: {{reason}}',
          ],
        ),
        time('Tunnels of its proxies that ended', 'ops', [
          `rate(edge_agent_proxy_tunnels_closed_total{${OF}}[$__rate_interval])`,
          '{{reason}}',
        ]),
        time('Streams from admins', 'short', [`edge_agent_tunnel_streams{${OF}}`, 'open']),
        time('Connections out that failed', 'ops', [
          `rate(edge_agent_exit_failures_total{${OF}}[$__rate_interval])`,
          '{{reason}}',
        ]),
        time(
          'SSH',
          'ops',
          [`rate(edge_agent_ssh_connections_total{${OF}}[$__rate_interval])`, 'connections'],
          [`rate(edge_agent_ssh_authentications_total{${OF}}[$__rate_interval])`, 'logins tried'],
        ),
      ],
    },
    {
      title: 'WireGuard',
      panels: [
        time(
          'Interfaces',
          'short',
          [`wireguard_interfaces{${OF}}`, 'all'],
          [`wireguard_interface_up{${OF}}`, '{{interface}}'],
        ),
        time(
          'Bytes by peer',
          'Bps',
          [
            `rate(wireguard_sent_bytes_total{${OF}}[$__rate_interval])`,
            '{{interface}} to {{friendly_name}} {{public_key}}',
          ],
          [
            `rate(wireguard_received_bytes_total{${OF}}[$__rate_interval])`,
            '{{interface}} from {{friendly_name}} {{public_key}}',
          ],
        ),
        time('Since the last handshake', 's', [
          `time() - (wireguard_latest_handshake_seconds{${OF}} > 0)`,
          '{{interface}} with {{friendly_name}} {{public_key}}',
        ]),
      ],
    },
  ],
};
