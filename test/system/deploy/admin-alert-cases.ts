/** When the alerts of the admins themselves fire, and when they do not: see alert-cases.ts. */
import { ADMIN, always, lately, LIAR, rising, type AlertCase } from './alert-series.ts';

/** By the name of the alert. */
export const ADMIN_ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  EdgeAdminDown: { fires: { [`up{${ADMIN}}`]: always(0) }, quiet: { [`up{${ADMIN}}`]: always(1) } },
  EdgeNoAdmin: {
    fires: { [`up{${ADMIN}}`]: always(0) },
    quiet: { [`up{${ADMIN}}`]: always(1), 'up{instance="b",job="edge-admin"}': always(0) },
  },
  EdgeAdminDatabaseAway: {
    fires: {
      [`up{${ADMIN}}`]: always(1),
      'edge_admin_nodes{instance="b",job="edge-admin",status="healthy"}': always(1),
    },
    quiet: { [`up{${ADMIN}}`]: always(1), [`edge_admin_nodes{${ADMIN},status="healthy"}`]: always(0) },
  },
  EdgeAdminSilent: {
    fires: { [`edge_admin_admins{${ADMIN},status="silent"}`]: always(1) },
    quiet: {
      [`edge_admin_admins{${ADMIN},status="silent"}`]: always(0),
      [`edge_admin_admins{${ADMIN},status="gone"}`]: always(1),
    },
  },
  EdgeAdminUnreached: {
    fires: { [`edge_admin_link_up{${ADMIN},admin="b"}`]: always(0) },
    quiet: {
      [`edge_admin_link_up{${ADMIN},admin="b"}`]: always(1),
      [`edge_admin_link_up{${LIAR},admin="b"}`]: always(0),
    },
  },
  EdgeAdminListenerSilent: {
    fires: { [`edge_admin_listener_silence_seconds{${ADMIN}}`]: always(16) },
    quiet: { [`edge_admin_listener_silence_seconds{${ADMIN}}`]: always(10) },
  },
  EdgeAdminDrains: {
    fires: { [`edge_admin_admins{${ADMIN},status="draining"}`]: always(1) },
    quiet: { [`edge_admin_admins{${ADMIN},status="draining"}`]: lately(0, 1) },
  },
  EdgeAdminCommitsFail: {
    fires: { [`edge_admin_commits_failed_total{${ADMIN}}`]: rising(6) },
    quiet: { [`edge_admin_commits_failed_total{${ADMIN}}`]: rising(1) },
  },
  EdgeAdminCommitsSlow: {
    fires: {
      [`edge_admin_commit_duration_seconds_bucket{${ADMIN},le="0.5"}`]: rising(10),
      [`edge_admin_commit_duration_seconds_bucket{${ADMIN},le="1"}`]: rising(60),
      [`edge_admin_commit_duration_seconds_bucket{${ADMIN},le="+Inf"}`]: rising(60),
    },
    quiet: {
      [`edge_admin_commit_duration_seconds_bucket{${ADMIN},le="0.5"}`]: rising(60),
      [`edge_admin_commit_duration_seconds_bucket{${ADMIN},le="+Inf"}`]: rising(60),
    },
  },
  EdgeAdminCertificateEnds: {
    fires: { [`edge_admin_tls_certificate_expiry_timestamp_seconds{${ADMIN}}`]: always(10 * 86_400) },
    quiet: {
      [`edge_admin_tls_certificate_expiry_timestamp_seconds{${ADMIN}}`]: always(15 * 86_400),
      [`edge_admin_tls_certificate_refused{${ADMIN}}`]: always(0),
    },
  },
  EdgeSelfUpdateStandsStill: {
    fires: { [`edge_admin_self_update_overdue_seconds{${ADMIN}}`]: always(90) },
    quiet: { [`edge_admin_self_update_overdue_seconds{${ADMIN}}`]: '0+0x60 90 0+0x40 5+0x29' },
  },
  EdgeReleaseMetadataExpires: {
    fires: { [`edge_admin_release_metadata_expiry_timestamp_seconds{${ADMIN}}`]: always(6 * 86_400) },
    quiet: { [`edge_admin_release_metadata_expiry_timestamp_seconds{${ADMIN}}`]: always(8 * 86_400) },
  },
  EdgeAdminPoolExhausted: {
    fires: { [`edge_admin_database_connections{${ADMIN},state="waiting"}`]: always(1) },
    quiet: {
      [`edge_admin_database_connections{${ADMIN},state="waiting"}`]: '0+0x20 9 0+0x108',
      [`edge_admin_database_connections{${ADMIN},state="busy"}`]: always(9),
    },
  },
  EdgeAdminLeaseStale: {
    fires: { [`edge_admin_lease_age_seconds{${ADMIN}}`]: always(5) },
    quiet: {
      [`edge_admin_lease_age_seconds{${ADMIN}}`]: always(1),
      [`edge_admin_lease_age_seconds{${LIAR}}`]: always(9),
    },
  },
  EdgeAdminsDegraded: {
    fires: {
      [`edge_admin_degraded{${ADMIN}}`]: always(1),
      'edge_admin_degraded{job="edge-admin",instance="b"}': always(0),
    },
    quiet: { [`edge_admin_degraded{${ADMIN}}`]: always(0), [`edge_admin_degraded{${LIAR}}`]: always(1) },
  },
  EdgeAdminActorCrashed: {
    fires: { [`edge_admin_actor_crashes_total{${ADMIN}}`]: lately(0, 1) },
    quiet: { [`edge_admin_actor_crashes_total{${ADMIN}}`]: always(7) },
  },
  EdgeAdminActorRests: {
    fires: { [`edge_admin_actor_escalations_total{${ADMIN}}`]: lately(0, 1) },
    quiet: { [`edge_admin_actor_escalations_total{${ADMIN}}`]: always(7) },
  },
  EdgeAdminMailboxFills: {
    fires: { [`edge_admin_mailbox_messages_max{${ADMIN},kind="node"}`]: always(600) },
    quiet: { [`edge_admin_mailbox_messages_max{${ADMIN},kind="node"}`]: always(500) },
  },
  EdgeAdminDeadLetters: {
    fires: { [`edge_admin_dead_letters_total{${ADMIN}}`]: rising(120) },
    quiet: { [`edge_admin_dead_letters_total{${ADMIN}}`]: rising(30) },
  },
  EdgeAdminLoopSlow: {
    fires: { [`nodejs_eventloop_lag_p99_seconds{${ADMIN}}`]: always(0.3) },
    quiet: { [`nodejs_eventloop_lag_p99_seconds{${ADMIN}}`]: always(0.1) },
  },
};
