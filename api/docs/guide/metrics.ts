/** `/guide/metrics`. */
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';

const BEARER = '-H "Authorization: Bearer $METRICS_KEY"';

/**
 * A configuration of Prometheus that finds all nodes by itself. The key stands in a file, as a configuration is often
 * shown around.
 */
function configuration({ adminUrl }: GuideFacts): string {
  const { protocol, host, port, pathname } = new URL(adminUrl);
  const base = pathname.replace(/\/+$/u, '');
  // without the type Prometheus 2.42 asks for discovery with the bare key
  const key = 'authorization: { type: Bearer, credentials_file: metrics-key }';
  const discovered = (source: string) => `  - job_name: edge-${source}
    ${key}
    http_sd_configs:
      - url: ${protocol}//${host}${base}/api/v1/nodes/metrics/${source}/discovery
        ${key}
    relabel_configs:
      - { source_labels: [node_id], target_label: instance }
      - { action: labeldrop, regex: status|version|name|hostname|os|arch }
`;
  return `global: { scrape_interval: 15s }
scrape_configs:
${['host', 'agent', 'wireguard'].map(discovered).join('')}  - job_name: edge-admin
    ${key}
    scheme: ${protocol.slice(0, -1)}
    metrics_path: ${base}/api/v1/admins/me/metrics/raw
    static_configs: [{ targets: ['${port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host}'] }]
`;
}

/** The page. */
export function metricsPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Metrics',
    title: 'Metrics',
    lead: 'Each agent measures its host, its WireGuard interfaces and itself. The admin fetches that through the connection of the agent and hands it on, as Prometheus reads it or as JSON, so no machine needs an open port.',
    sections: [
      beforeYouBegin(facts),
      ONE_MACHINE,
      prometheus(facts),
      THIS_ADMIN,
      ON_THE_MACHINE_ITSELF,
      WHAT_FIELDS_OF_JSON_MEAN,
      SETTINGS,
      {
        title: 'Operations',
        blocks: [{ kind: 'operations', picks: (path) => path.includes('/metrics') }, { kind: 'scrapes' }],
      },
    ],
  };
}

function beforeYouBegin(facts: GuideFacts): Section {
  return {
    title: 'Before you begin',
    blocks: [
      ...knowsAdmin(facts),
      { kind: 'shell', commands: 'read -rs METRICS_KEY && export METRICS_KEY', asks: 'METRICS_KEY' },
      {
        kind: 'text',
        text: '`METRICS_KEY` opens metrics and nothing else. `MASTER_KEY` opens them too, `API_KEY` does not.',
      },
    ],
  };
}

const ONE_MACHINE: Section = {
  title: 'One machine',
  blocks: [
    {
      kind: 'text',
      text: 'As Prometheus reads it; hosts have the names, labels and units of node_exporter, so its dashboards fit:',
    },
    {
      kind: 'shell',
      commands: `NODE=$(edge node get web-1 -o id)\ncurl -sS "$EDGE_URL/api/v1/nodes/$NODE/metrics/host/raw" ${BEARER} | grep ^node_load`,
      prints: 'node_load1 …\nnode_load5 …\nnode_load15 …',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/nodes/$NODE/metrics/agent/raw" ${BEARER} | grep ^edge_agent_executions`,
      prints:
        'edge_agent_executions_enqueued_total …\nedge_agent_executions_completed_total …\nedge_agent_executions_reported_total …\nedge_agent_executions_synced_total …',
    },
    {
      kind: 'text',
      text: 'As JSON, host and agent together. A source that fails is `"available": false` with nulls, never with zeros.',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/nodes/$NODE/metrics" ${BEARER}`,
      prints: '{"data":{"node_id":"…","cluster_name":"prod",…"host":{"available":true,"cpu":{"cores":…',
    },
    {
      kind: 'text',
      text: 'A machine that is away, or does not answer with metrics within `METRICS_SCRAPE_TIMEOUT_MS`, is a 503 of the text routes. Nothing is kept between two requests.',
    },
  ],
};

function prometheus(facts: GuideFacts): Section {
  return {
    title: 'Prometheus',
    blocks: [
      {
        kind: 'text',
        text: 'It asks the admin which machines there are and scrapes each of them through it. This writes the key and a configuration into the present directory.',
      },
      {
        kind: 'shell',
        where: 'prometheus',
        commands: 'umask 077; read -rs METRICS_KEY && printf %s "$METRICS_KEY" > metrics-key',
        asks: 'METRICS_KEY',
      },
      {
        kind: 'shell',
        where: 'prometheus',
        commands: `cat > prometheus.yml <<'EOF'\n${configuration(facts)}EOF\npromtool check config prometheus.yml`,
        prints: '…SUCCESS: prometheus.yml is valid prometheus config file syntax',
      },
      {
        kind: 'shell',
        where: 'prometheus',
        commands:
          'prometheus --config.file=prometheus.yml --storage.tsdb.path=prometheus-data --web.listen-address=127.0.0.1:9090',
        lasts: 'now',
        prints: '…Server is ready to receive web requests…',
      },
      {
        kind: 'text',
        text: 'The repository has this with alert rules in `deploy/prometheus/`, and dashboards of the fleet, a node, commands and the admin in `deploy/grafana/`.',
      },
      { kind: 'text', text: 'The first scrapes take up to half a minute. This waits for one:' },
      {
        kind: 'shell',
        where: 'prometheus',
        commands:
          'until promtool query instant http://127.0.0.1:9090 \'up{job="edge-host"} == 1\' | grep up; do sleep 1; done',
        prints: 'up{cluster="prod",…instance="…", job="edge-host",…node_id="…"} => 1 @[…]',
      },
      {
        kind: 'text',
        text: 'Discovery answers with all machines, or with those that the filters of [list_nodes](/api/docs#list_nodes) pick, with `node_id`, `cluster`, `status`, `version`, `name`, `hostname`, `os` and `arch` as labels, and those of the machine as `label_…`. The configuration leaves out what changes and says nothing that `node_id` does not, as each change would begin a new series.',
      },
      {
        kind: 'shell',
        commands: `curl -sS "$EDGE_URL/api/v1/nodes/metrics/host/discovery?cluster_name=prod" ${BEARER}`,
        prints:
          '[{"targets":["…"],"labels":{"node_id":"…","cluster":"prod","status":"healthy","version":"…","job":"edge-host",…',
      },
    ],
  };
}

const THIS_ADMIN: Section = {
  title: 'This admin',
  blocks: [
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/admins/me/metrics/raw" ${BEARER} | grep ^edge_admin_nodes`,
      prints:
        'edge_admin_nodes{status="healthy"} …\nedge_admin_nodes{status="unhealthy"} …\nedge_admin_nodes{status="unreachable"} …',
    },
    {
      kind: 'text',
      text: 'Names begin with `edge_admin_`; what its process itself shows is under the usual `process_` and `nodejs_`. [get_admin_metrics](/api/docs#get_admin_metrics) has the same as JSON. Each admin tells of itself, so scrape every one.',
    },
  ],
};

const ON_THE_MACHINE_ITSELF: Section = {
  title: 'On the machine itself',
  blocks: [
    {
      kind: 'text',
      text: 'For a Prometheus on the machine, or near it with `AGENT_METRICS_HOST`. Host and WireGuard metrics need no key there, those of the agent take one that `edge-agent metrics-key` prints.',
    },
    {
      kind: 'shell',
      where: 'machine',
      commands: 'curl -sS http://127.0.0.1:49100/metrics | grep ^node_boot_time',
      prints: 'node_boot_time_seconds …',
    },
    {
      kind: 'shell',
      where: 'machine',
      commands:
        'curl -sS http://127.0.0.1:44000/api/v1/agents/me/metrics/raw -H "Authorization: Bearer $(edge-agent metrics-key)" | grep ^edge_agent_info',
      prints: 'edge_agent_info{version="…",…} 1',
    },
  ],
};

const WHAT_FIELDS_OF_JSON_MEAN: Section = {
  title: 'What fields of JSON mean',
  blocks: [
    {
      kind: 'text',
      text: 'Some names are older than this service. They hold what is nearest to them here, or null.',
    },
    {
      kind: 'table',
      head: ['Field of `agent`', 'Means here'],
      rows: [
        ['`memory_total_*`', 'Memory of the agent that is resident.'],
        ['`memory_processes_*`', 'The heap of V8, as far as it is used.'],
        ['`memory_ets_*`', "Memory of V8's objects outside its heap."],
        ['`memory_binary_*`', 'Buffers.'],
        ['`process_count`', 'Processes of the operating system: the agent, and those that keep running commands.'],
        [
          '`enqueued_total` … `synced_total`',
          'Executions that arrived, ended, whose results were sent, and whose results are stored.',
        ],
        ['`scans_total`, `admins_found_last`', 'Rounds through the URLs of admins, and how many it knows.'],
        [
          '`oban_queues`',
          'The queue of commands: `available` wait, `executing` run, `completed` ended, `discarded` were cancelled or expired, `retryable` have a result that is not stored yet.',
        ],
        ['`health_check.reports_total`, `vpn.pulls_total`', 'Null: neither exists here.'],
      ],
    },
    { kind: 'text', text: '`usage_percent` of memory and disk is (total - available) / total.' },
  ],
};

const SETTINGS: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [
        ['METRICS_KEY', 'MASTER_KEY', 'Bearer key of all metrics, read-only.'],
        ['METRICS_AUTH_ENABLED', 'ALL_AUTH_ENABLED', 'Whether reading metrics demands a key.'],
        [
          'METRICS_BASE_URL',
          'the first of ADMIN_URLS',
          'URL under which Prometheus reaches this admin; discovery names it.',
        ],
        ['METRICS_SCRAPE_TIMEOUT_MS', '`5000`', 'How long a machine may take to answer.'],
      ],
    },
    {
      kind: 'settings',
      program: 'edge-agent',
      rows: [
        ['AGENT_METRICS_HOST', '`127.0.0.1`', "Further addresses on which the agent's API and its metrics listen."],
        ['AGENT_METRICS_AUTH_ENABLED', '`true`', "Whether the agent's own metrics demand their key."],
      ],
    },
  ],
};
