/** `/guide/metrics`. */
import { knowsAdmin, type GuideFacts, type GuidePage } from './page.ts';

/** A configuration of Prometheus that finds all nodes by itself. The key stands in a file, as a configuration is often shown around. */
function configuration({ adminUrl }: GuideFacts): string {
  const { protocol, host } = new URL(adminUrl);
  const job = (source: string) => `  - job_name: edge-${source}
    scheme: ${protocol.slice(0, -1)}
    authorization: { credentials_file: metrics-key }
    http_sd_configs:
      - url: ${adminUrl.replace(/\/$/u, '')}/api/v1/nodes/metrics/${source}/discovery
        authorization: { credentials_file: metrics-key }
`;
  return `global: { scrape_interval: 15s }
scrape_configs:
${['host', 'agent', 'wireguard'].map(job).join('')}  - job_name: edge-admin
    scheme: ${protocol.slice(0, -1)}
    authorization: { credentials_file: metrics-key }
    metrics_path: /api/v1/admins/me/metrics/raw
    static_configs: [{ targets: ['${host}'] }]
`;
}

/** The page. */
export function metricsPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Metrics',
    title: 'Metrics',
    lead: 'Each agent measures its host, its WireGuard interfaces and itself. The admin fetches that through the connection of the agent and hands it on, as Prometheus reads it or as JSON, so no machine needs an open port.',
    sections: [
      {
        title: 'Before you begin',
        blocks: [
          ...knowsAdmin(facts),
          { kind: 'shell', commands: 'read -rs METRICS_KEY && export METRICS_KEY', asks: 'METRICS_KEY' },
          { kind: 'text', text: '`METRICS_KEY` opens metrics and nothing else; `MASTER_KEY` opens them too, `API_KEY` does not.' },
        ],
      },
      {
        title: 'Prometheus',
        blocks: [
          { kind: 'text', text: 'It asks the admin for all nodes and scrapes each of them through it. This writes a configuration and the key into the present directory:' },
          { kind: 'shell', where: 'prometheus', commands: `(umask 077; printf %s "$METRICS_KEY" > metrics-key)\ncat > prometheus.yml <<'EOF'\n${configuration(facts)}EOF\npromtool check config prometheus.yml`, prints: '…SUCCESS: prometheus.yml is valid prometheus config file syntax…' },
          { kind: 'shell', where: 'prometheus', commands: 'prometheus --config.file=prometheus.yml --web.listen-address=127.0.0.1:9090', lasts: 'now', prints: '…Server is ready to receive web requests…' },
        ],
      },
      {
        title: 'By hand',
        blocks: [
          { kind: 'shell', commands: `NODE=$(edge node get web-1 | awk '$1 == "id" { print $2 }')\ncurl -sS "$EDGE_URL/api/v1/nodes/$NODE/metrics/host/raw" -H "Authorization: Bearer $METRICS_KEY" | grep ^node_load`, prints: 'node_load1 …\nnode_load5 …\nnode_load15 …' },
        ],
      },
      { title: 'Operations', blocks: [{ kind: 'operations', picks: (path) => path.includes('/metrics') }] },
    ],
  };
}
