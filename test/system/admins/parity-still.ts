/**
 * What does not move of answers that are measured at that moment, or tell of the admin that answers: whether something
 * could be read, names and statuses, and the names of all that is measured.
 */
import type { AdminResource } from '../../../actors/resources/admin.ts';
import type { NodeDiagnosisResource } from '../../../actors/resources/node-diagnosis.ts';
import type { NodeMetricsHistoryResource } from '../../../actors/resources/node-metrics.ts';
import type { OverviewResource } from '../../../actors/resources/overview.ts';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import type { WebhookDeliveryResource } from '../../../actors/resources/webhook.ts';
import type { OperationName } from '../../../api/catalogue.ts';
import type { Exposition } from '../../../api/exposition-text.ts';
import type { HealthView } from '../../../api/views/health.ts';
import { isCrowded } from '../../support/busy.ts';

type Health = ReturnType<typeof HealthView.parse>;

/** Of the answer to an operation, what is the same at each admin. */
export const STILL: Partial<Record<OperationName, (value: never) => unknown>> = {
  get_admin: ofItself,
  list_admins: ({
    data,
    pagination,
  }: {
    readonly data: readonly PeerAdminResource[];
    readonly pagination: unknown;
  }) => ({
    data: data.map(seenByAny),
    pagination,
  }),
  get_peer_admin: seenByAny,
  drain_admin: asked,
  resume_admin: asked,
  get_overview: (overview: OverviewResource) => ({
    ...overview,
    events_stored: kind(overview.events_stored), // of the last minute
    admins: overview.admins?.map(seenByAny) ?? null,
  }),
  get_admin_metrics: (metrics: Readonly<Record<string, object | string | null>> & { readonly database: object }) => ({
    sections: Object.entries(metrics).map(([name, section]) => [
      name,
      section !== null && typeof section === 'object' ? Object.keys(section) : kind(section),
    ]),
    available: (metrics.database as { readonly available?: unknown }).available,
  }),
  check_admin_health: ({ healthy, checks }: Health) => ({
    healthy,
    checks: checks.map((check) => ({ ...check, duration_ms: kind(check.duration_ms) })),
  }),
  scrape_admin_metrics: families,
  scrape_host_metrics: families,
  scrape_agent_metrics: families,
  scrape_wireguard_metrics: families,
  get_node_diagnostics: ({ overall, is_live: isLive, checks }: NodeDiagnosisResource) => ({
    overall,
    isLive,
    checks: checks.map(({ name, status }) => [name, status]),
  }),
  get_node_metrics: figures,
  get_host_metrics: figures,
  get_agent_metrics: figures,
  get_node_metrics_history: oldestPoint,
  redeliver_webhook_delivery: ({ attempts = [], ...delivery }: WebhookDeliveryResource) => ({
    fields: Object.keys(delivery).toSorted(), // it is sent while it is answered
    event_type: delivery.event_type,
    wasDelivered: attempts.some(({ status_code: code }) => code === 204),
  }),
};

function ofItself(admin: AdminResource): object {
  return {
    fields: Object.keys(admin).toSorted(),
    version: admin.version,
    admin_cluster_name: admin.admin_cluster_name,
    admin_peer_count: admin.admin_peer_count,
    isCapacityRight: admin.edge_node_capacity === admin.max_wireguard_peers - admin.admin_peer_count,
    isNamed: admin.erlang_node_name.startsWith(`${admin.name}@`),
    vpn_hostname: admin.vpn_hostname,
    proxies: admin.proxies && Object.keys(admin.proxies),
  };
}

/** An admin as any of them sees it: each gets to itself in its own way, and to the others. */
function seenByAny({ link, ...admin }: PeerAdminResource): object {
  return { ...admin, isReached: link !== null && (link.state === 'self' || link.state === 'reached') };
}

/** The same, asked once: what may change from call to call is left out, on a crowded machine its status too. */
function asked({ link, tasks, problems, status, status_since: since, ...admin }: PeerAdminResource): object {
  return {
    ...admin,
    fields: Object.keys({ link, tasks, problems, status, since }),
    status: isCrowded() ? null : status,
  };
}

/** The metrics that a text has. */
function families({ text, truncated }: Exposition): object {
  return { names: [...text.matchAll(/^# TYPE (?<name>\S+)/gmu)].map(({ groups }) => groups?.['name']), truncated };
}

/** Figures that stay for as long as a machine runs. */
const STANDING_FIGURES = ['cores', 'total_bytes', 'total_gb', 'admins_found_last'];

/** Fields that tell of a figure in words. */
const WORDS = ['human', 'uptime_human'];

/** Measurements: whether each could be had, and the figures that stand. */
function figures(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (field, part: unknown) =>
      (typeof part === 'number' && !STANDING_FIGURES.includes(field)) || WORDS.includes(field) ? kind(part) : part,
    ),
  );
}

/** Points are added, and the oldest stays for an hour. */
function oldestPoint(history: NodeMetricsHistoryResource): object {
  return Object.fromEntries(
    Object.entries<unknown>(history).map(([field, value]) => [field, Array.isArray(value) ? value.slice(0, 1) : value]),
  );
}

/** The type of a value that moves, in its place. */
function kind(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
