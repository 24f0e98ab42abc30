/**
 * Every operation, under its name. The REST routes, the tRPC router, the MCP tools and the OpenAPI document are made
 * from it.
 */
import {
  check_admin_health,
  drain_admin,
  get_admin,
  get_my_admin_cluster,
  get_peer_admin,
  list_admin_clusters,
  list_admins,
  list_edge_clusters,
  list_orphaned_clusters,
  resume_admin,
} from './operations/admins.ts';
import { get_admin_metrics } from './operations/admin-metrics.ts';
import { create_alias, delete_alias, get_alias, list_aliases } from './operations/aliases.ts';
import { create_cluster, delete_cluster, get_cluster, list_clusters, update_cluster } from './operations/clusters.ts';
import { get_cluster_paths } from './operations/cluster-paths.ts';
import {
  cancel_command_execution,
  delete_command_execution,
  get_command_execution,
  list_command_executions,
} from './operations/command-executions.ts';
import { delete_console_session, list_console_sessions } from './operations/console-sessions.ts';
import { cancel_command, create_command, delete_command, get_command, list_commands } from './operations/commands.ts';
import { get_node_diagnostics } from './operations/diagnostics.ts';
import { list_node_events } from './operations/node-events.ts';
import { get_node_paths } from './operations/node-paths.ts';
import { get_node_ssh_sessions } from './operations/node-ssh-sessions.ts';
import {
  create_enrollment_key,
  create_public_enrollment_key,
  delete_enrollment_key,
  get_enrollment_key,
  list_enrollment_keys,
  update_enrollment_key,
} from './operations/enrollment-keys.ts';
import { explain_event_type, list_event_types, publish_test_event } from './operations/events.ts';
import {
  get_agent_metrics,
  get_host_metrics,
  get_node_metrics,
  get_node_metrics_history,
} from './operations/node-metrics.ts';
import {
  create_group,
  delete_group,
  get_group,
  list_groups,
  preview_targeting,
  update_group,
} from './operations/groups.ts';
import { label_nodes, remove_node_label, set_node_labels } from './operations/labels.ts';
import {
  change_node_cluster,
  create_node_recovery_key,
  delete_node,
  delete_node_recovery_key,
  get_node,
  list_nodes,
} from './operations/nodes.ts';
import { get_overview } from './operations/overview.ts';
import { delete_release, get_releases, publish_release_metadata } from './operations/releases.ts';
import {
  discover_agent_metrics,
  discover_host_metrics,
  discover_wireguard_metrics,
  scrape_admin_metrics,
  scrape_agent_metrics,
  scrape_host_metrics,
  scrape_wireguard_metrics,
} from './operations/scrapes.ts';
import {
  create_self_update_request,
  delete_self_update_request,
  get_self_update_request,
  list_self_update_requests,
  list_self_update_results,
} from './operations/self-updates.ts';
import {
  create_ssh_public_key,
  delete_ssh_public_key,
  get_ssh_public_key,
  list_ssh_public_keys,
} from './operations/ssh-public-keys.ts';
import { delete_ssh_recording, get_ssh_recording, list_ssh_recordings } from './operations/ssh-recordings.ts';
import {
  create_ssh_username,
  delete_ssh_username,
  get_ssh_username,
  list_ssh_usernames,
} from './operations/ssh-usernames.ts';
import {
  create_webhook,
  delete_webhook,
  get_webhook,
  get_webhook_delivery,
  list_webhook_deliveries,
  list_webhooks,
  redeliver_webhook_delivery,
} from './operations/webhooks.ts';

/** Every operation by its name, in the order in which documentation shows them. */
export const catalogue = {
  create_cluster,
  list_clusters,
  get_cluster,
  update_cluster,
  delete_cluster,
  get_cluster_paths,
  create_enrollment_key,
  create_public_enrollment_key,
  list_enrollment_keys,
  get_enrollment_key,
  update_enrollment_key,
  delete_enrollment_key,
  list_nodes,
  get_node,
  delete_node,
  change_node_cluster,
  set_node_labels,
  remove_node_label,
  label_nodes,
  get_node_diagnostics,
  get_node_paths,
  get_node_ssh_sessions,
  list_node_events,
  create_node_recovery_key,
  delete_node_recovery_key,
  get_node_metrics,
  get_host_metrics,
  get_agent_metrics,
  get_node_metrics_history,
  create_alias,
  list_aliases,
  get_alias,
  delete_alias,
  create_group,
  list_groups,
  get_group,
  update_group,
  delete_group,
  preview_targeting,
  create_command,
  list_commands,
  get_command,
  cancel_command,
  delete_command,
  list_command_executions,
  get_command_execution,
  cancel_command_execution,
  delete_command_execution,
  create_ssh_username,
  list_ssh_usernames,
  get_ssh_username,
  delete_ssh_username,
  create_ssh_public_key,
  list_ssh_public_keys,
  get_ssh_public_key,
  delete_ssh_public_key,
  list_ssh_recordings,
  get_ssh_recording,
  delete_ssh_recording,
  list_console_sessions,
  delete_console_session,
  create_self_update_request,
  list_self_update_requests,
  get_self_update_request,
  list_self_update_results,
  delete_self_update_request,
  create_webhook,
  list_webhooks,
  get_webhook,
  delete_webhook,
  list_webhook_deliveries,
  get_webhook_delivery,
  redeliver_webhook_delivery,
  list_event_types,
  explain_event_type,
  publish_test_event,
  get_admin,
  get_my_admin_cluster,
  list_admin_clusters,
  list_edge_clusters,
  list_orphaned_clusters,
  list_admins,
  get_peer_admin,
  drain_admin,
  resume_admin,
  get_overview,
  get_releases,
  publish_release_metadata,
  delete_release,
  get_admin_metrics,
  check_admin_health,
  scrape_host_metrics,
  scrape_agent_metrics,
  scrape_wireguard_metrics,
  scrape_admin_metrics,
  discover_host_metrics,
  discover_agent_metrics,
  discover_wireguard_metrics,
} as const;

/** The catalogue as a type: what clients are typed by. */
export type Catalogue = typeof catalogue;
/** Names of operations. */
export type OperationName = keyof Catalogue;
