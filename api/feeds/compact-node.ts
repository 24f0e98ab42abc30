/**
 * Nodes as feeds hold them: a hundred thousand at a time. The database gives each row texts and objects of its own;
 * here what many nodes say alike is there once, and each has no more than its values.
 */
import type { NodeResource } from '../../actors/resources/node.ts';

/** Texts, and sets of labels, that are there once. Beyond them some are forgotten, and may be there twice. */
const SHARED_TEXTS_MAX = 8_192;
const SHARED_LABELS_MAX = 8_192;

/** Makes nodes small. What it makes is the same field by field, and is never changed. */
export function createCompactor(): (node: NodeResource) => NodeResource {
  const texts = new Map<string, string>();
  const labels = new Map<string, NodeResource['labels']>();
  const text = <T extends string | null>(value: T): T =>
    value === null ? value : (shared(texts, value, value, SHARED_TEXTS_MAX) as T);
  // Written out, field by field: an object that is put together from others takes half as much again.
  return (node) => {
    const { status_since: since } = node;
    const time = <T extends string | null>(value: T): T => (value === since ? (since as T) : value);
    return {
      id: node.id,
      name: nameOf(node),
      cluster_name: text(node.cluster_name),
      status: text(node.status),
      status_since: since,
      status_reason: text(node.status_reason),
      status_evidence: compactEvidence(node.status_evidence, text, time),
      version: text(node.version),
      id_type: text(node.id_type),
      vpn_hostname: flat(node.vpn_hostname),
      aliases: compactAliases(node),
      http_port: node.http_port,
      ssh_port: node.ssh_port,
      host_metrics_port: node.host_metrics_port,
      wireguard_metrics_port: node.wireguard_metrics_port,
      http_proxy_port: node.http_proxy_port,
      socks5_proxy_port: node.socks5_proxy_port,
      self_update_enabled: node.self_update_enabled,
      enrollment_key_id: text(node.enrollment_key_id),
      facts: compactFacts(node.facts, text),
      labels: shared(labels, JSON.stringify(node.labels), node.labels, SHARED_LABELS_MAX),
      last_seen_at: time(node.last_seen_at),
      inserted_at: time(node.inserted_at),
      updated_at: time(node.updated_at),
    };
  };
}

/** It is one of these, mostly. */
function nameOf({ name, aliases: [alias], facts }: NodeResource): string {
  if (alias?.name === name) return alias.name;
  return facts?.hostname === name ? facts.hostname : name;
}

type Shorten = <T extends string | null>(value: T) => T;

function compactEvidence(
  evidence: NodeResource['status_evidence'],
  text: Shorten,
  time: Shorten,
): NodeResource['status_evidence'] {
  if (evidence === null) return null;
  const { observed_at: observedAt, session, last_report_at: reportedAt, services, vpn } = evidence;
  return {
    ...evidence, // it was stored, maybe by another version
    observed_at: time(observedAt),
    session: session && { ...session, connected_at: time(session.connected_at) },
    last_report_at: time(reportedAt),
    services: services.length === 0 ? NO_SERVICES : services,
    vpn: vpn && { ...vpn, path: text(vpn.path) },
  };
}

function compactFacts(facts: NodeResource['facts'], text: Shorten): NodeResource['facts'] {
  return (
    facts && {
      ...facts, // it was stored, maybe by another version
      os: text(facts.os),
      os_version: text(facts.os_version),
      os_name: text(facts.os_name),
      kernel: text(facts.kernel),
      arch: text(facts.arch),
      cpu_model: text(facts.cpu_model),
      virtualization: text(facts.virtualization),
      time_zone: text(facts.time_zone),
    }
  );
}

function compactAliases({ aliases }: NodeResource): NodeResource['aliases'] {
  return aliases.length === 0
    ? NO_ALIASES
    : aliases.map(({ id, name, vpn_hostname: hostname }) => ({ id, name, vpn_hostname: flat(hostname) }));
}

const NO_SERVICES: NonNullable<NodeResource['status_evidence']>['services'] = [];
const NO_ALIASES: NodeResource['aliases'] = [];

/** A text that was put together keeps its pieces until it is read; a copy has only its characters. */
function flat(value: string): string {
  return Buffer.from(value).toString();
}

function shared<T>(known: Map<string, T>, key: string, value: T, max: number): T {
  const one = known.get(key);
  if (one !== undefined) return one;
  if (known.size >= max) known.clear();
  known.set(key, value);
  return value;
}
