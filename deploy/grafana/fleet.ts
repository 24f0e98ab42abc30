/** The fleet: which nodes are there, what they run on, and how they are seen. */
import { area, CLUSTERS, stat, time } from './layout.ts';
import type { Dashboard } from './layout.ts';

const OF = 'cluster=~"$cluster"';

/** The dashboard. */
export const fleet: Dashboard = {
  uid: 'edge-fleet',
  title: 'Edge: fleet',
  description: 'All nodes: status, versions, hosts, and how their metrics are read.',
  variables: [CLUSTERS],
  rows: [
    {
      title: 'Nodes',
      panels: [
        stat('Healthy', 'short', 'max(edge_admin_nodes{job="edge-admin",status="healthy"})'),
        stat('Unhealthy', 'short', 'max(edge_admin_nodes{job="edge-admin",status="unhealthy"})', {
          badFrom: 1,
          description: 'Connected, and something of theirs does not work.',
        }),
        stat('Unreachable', 'short', 'max(edge_admin_nodes{job="edge-admin",status="unreachable"})', { badFrom: 1 }),
        stat('Sessions', 'short', 'sum(edge_admin_sessions{job="edge-admin"})'),
        stat('Clusters', 'short', 'sum(edge_admin_owned_clusters{job="edge-admin"})'),
        stat('Admins', 'short', 'sum(up{job="edge-admin"})'),
        area('Nodes by status', 'short', ['max by (status) (edge_admin_nodes{job="edge-admin"})', '{{status}}']),
        area('Sessions by admin', 'short', ['edge_admin_sessions{job="edge-admin"}', '{{instance}}']),
        area('Nodes that are seen, by cluster', 'short', [
          `count by (cluster) (up{job="edge-agent",${OF}} == 1)`,
          '{{cluster}}',
        ]),
        area('Versions of agents', 'short', [`count by (version) (edge_agent_info{${OF}})`, '{{version}}']),
        {
          ...time('Nodes with a part that does not work', 'short', [
            `sum by (service) (edge_agent_service_up{${OF}} == bool 0)`,
            '{{service}}',
          ]),
          description: 'As agents report it.',
        },
        time('Sessions that broke', 'ops', [
          `sum by (cluster) (rate(edge_agent_reconnects_total{${OF}}[$__rate_interval]))`,
          '{{cluster}}',
        ]),
        {
          kind: 'table',
          title: 'Alerts',
          unit: 'none',
          queries: [['ALERTS{alertname=~"Edge.+",alertstate="firing"}', '']],
        },
      ],
    },
    {
      title: 'Hosts',
      panels: [
        time('Processor, busiest', 'percentunit', [
          `topk(10, 1 - avg by (node_id) (rate(node_cpu_seconds_total{mode="idle",${OF}}[$__rate_interval])))`,
          '{{node_id}}',
        ]),
        time('Memory, fullest', 'percentunit', [
          `topk(10, 1 - node_memory_MemAvailable_bytes{${OF}} / node_memory_MemTotal_bytes)`,
          '{{node_id}}',
        ]),
        time('Disk, least left', 'percentunit', [
          `bottomk(10, min by (node_id) (node_filesystem_avail_bytes{fstype!~"tmpfs|ramfs|squashfs|iso9660|erofs",${OF}} / node_filesystem_size_bytes))`,
          '{{node_id}}',
        ]),
        time('Load a processor', 'short', [
          `topk(10, node_load1{${OF}} / on (node_id) count by (node_id) (node_cpu_seconds_total{mode="idle"}))`,
          '{{node_id}}',
        ]),
        time(
          'Network of all nodes',
          'Bps',
          [`sum(rate(node_network_receive_bytes_total{device!="lo",${OF}}[$__rate_interval]))`, 'received'],
          [`sum(rate(node_network_transmit_bytes_total{device!="lo",${OF}}[$__rate_interval]))`, 'sent'],
        ),
        time('Memory of agents, largest', 'bytes', [
          `topk(10, edge_agent_memory_bytes{kind="resident",${OF}})`,
          '{{node_id}}',
        ]),
      ],
    },
    {
      title: 'Reading of metrics through the admins',
      panels: [
        area('Reads by outcome', 'ops', [
          'sum by (source, outcome) (rate(edge_admin_scrapes_total{job="edge-admin"}[$__rate_interval]))',
          '{{source}} {{outcome}}',
        ]),
        time(
          'Duration of a read',
          's',
          [
            'histogram_quantile(0.5, sum by (source, le) (rate(edge_admin_scrape_duration_seconds_bucket{job="edge-admin"}[$__rate_interval])))',
            '{{source}} median',
          ],
          [
            'histogram_quantile(0.99, sum by (source, le) (rate(edge_admin_scrape_duration_seconds_bucket{job="edge-admin"}[$__rate_interval])))',
            '{{source}} 99 %',
          ],
        ),
        time('Targets of Prometheus that are down', 'short', [
          'sum by (job) (up{job=~"edge-.+"} == bool 0)',
          '{{job}}',
        ]),
      ],
    },
  ],
};
