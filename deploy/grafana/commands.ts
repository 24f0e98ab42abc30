/** Commands: from the request to the confirmed result, and the events that tell of them. */
import { area, CLUSTERS, stat, time } from './layout.ts';
import type { Dashboard } from './layout.ts';

const OF = 'cluster=~"$cluster"';

/** The dashboard. */
export const commands: Dashboard = {
  uid: 'edge-commands',
  title: 'Edge: commands',
  description: 'Executions of commands at the admins and on the nodes, and the events that are delivered.',
  variables: [CLUSTERS],
  rows: [
    {
      title: 'At the admins',
      panels: [
        stat('Not delivered', 'short', 'max(edge_admin_executions{job="edge-admin",status="pending"})', {
          description: 'Their nodes may be away.',
        }),
        stat('Delivered, not ended', 'short', 'max(edge_admin_executions{job="edge-admin",status="sent"})'),
        stat(
          'Completed, last hour',
          'short',
          'sum(increase(edge_admin_executions_finished_total{job="edge-admin",status="completed"}[1h]))',
        ),
        stat(
          'Cancelled, last hour',
          'short',
          'sum(increase(edge_admin_executions_finished_total{job="edge-admin",status="cancelled"}[1h]))',
        ),
        stat(
          'Expired, last hour',
          'short',
          'sum(increase(edge_admin_executions_finished_total{job="edge-admin",status="expired"}[1h]))',
        ),
        stat(
          'Dropped, last hour',
          'short',
          'sum(increase(edge_admin_executions_finished_total{job="edge-admin",status="dropped"}[1h]))',
          { description: 'Their nodes were removed.' },
        ),
        area('Open executions', 'short', ['max by (status) (edge_admin_executions{job="edge-admin"})', '{{status}}']),
        time('Finished executions', 'ops', [
          'sum by (status) (rate(edge_admin_executions_finished_total{job="edge-admin"}[$__rate_interval]))',
          '{{status}}',
        ]),
        time('Commands created', 'ops', [
          'sum by (surface, code) (rate(edge_admin_request_duration_seconds_count{job="edge-admin",operation="create_command"}[$__rate_interval]))',
          '{{surface}} {{code}}',
        ]),
        time(
          'Duration of creating one',
          's',
          [
            'histogram_quantile(0.5, sum by (le) (rate(edge_admin_request_duration_seconds_bucket{job="edge-admin",operation="create_command"}[$__rate_interval])))',
            'median',
          ],
          [
            'histogram_quantile(0.99, sum by (le) (rate(edge_admin_request_duration_seconds_bucket{job="edge-admin",operation="create_command"}[$__rate_interval])))',
            '99 %',
          ],
        ),
        time('Frames of commands', 'ops', [
          'sum by (direction, type) (rate(edge_admin_frames_total{job="edge-admin",type=~"deliver|acknowledge|result|confirm|cancel|output-part"}[$__rate_interval]))',
          '{{direction}} {{type}}',
        ]),
        time(
          'Duration of storing',
          's',
          [
            'histogram_quantile(0.5, sum by (le) (rate(edge_admin_commit_duration_seconds_bucket{job="edge-admin"}[$__rate_interval])))',
            'median',
          ],
          [
            'histogram_quantile(0.99, sum by (le) (rate(edge_admin_commit_duration_seconds_bucket{job="edge-admin"}[$__rate_interval])))',
            '99 %',
          ],
        ),
      ],
    },
    {
      title: 'On the nodes',
      panels: [
        time(
          'All nodes',
          'ops',
          [`sum(rate(edge_agent_executions_enqueued_total{${OF}}[$__rate_interval]))`, 'taken in'],
          [`sum(rate(edge_agent_executions_completed_total{${OF}}[$__rate_interval]))`, 'ended'],
          [`sum(rate(edge_agent_executions_reported_total{${OF}}[$__rate_interval]))`, 'results sent'],
          [`sum(rate(edge_agent_executions_synced_total{${OF}}[$__rate_interval]))`, 'results confirmed'],
        ),
        area('By state', 'short', [
          `sum by (state) (edge_agent_queue_executions{state=~"available|executing|retryable",${OF}})`,
          '{{state}}',
        ]),
        time('Longest queues', 'short', [
          `topk(10, edge_agent_queue_executions{state="available",${OF}})`,
          '{{node_id}}',
        ]),
        time('Most running', 'short', [
          `topk(10, edge_agent_queue_executions{state="executing",${OF}})`,
          '{{node_id}}',
        ]),
        time('Most results not confirmed', 'short', [
          `topk(10, edge_agent_queue_executions{state="retryable",${OF}})`,
          '{{node_id}}',
        ]),
        time('Most processes', 'short', [`topk(10, edge_agent_processes{${OF}})`, '{{node_id}}']),
      ],
    },
    {
      title: 'Events',
      panels: [
        time(
          'Events that wait',
          'short',
          ['max by (channel) (edge_admin_events_backlog{job="edge-admin"})', '{{channel}}'],
          ['max(edge_admin_webhook_deliveries_pending{job="edge-admin"})', 'deliveries not finished'],
        ),
        time('Deliveries to webhooks', 'ops', [
          'sum by (outcome) (rate(edge_admin_webhook_deliveries_total{job="edge-admin"}[$__rate_interval])) > 0 or sum(rate(edge_admin_webhook_deliveries_total{job="edge-admin"}[$__rate_interval]))',
          '{{outcome}}',
        ]),
        time(
          'Events to the broker',
          'ops',
          [
            'sum by (outcome) (rate(edge_admin_broker_events_total{job="edge-admin"}[$__rate_interval]))',
            '{{outcome}}',
          ],
          ['sum(rate(edge_admin_broker_failures_total{job="edge-admin"}[$__rate_interval]))', 'failures'],
        ),
      ],
    },
  ],
};
