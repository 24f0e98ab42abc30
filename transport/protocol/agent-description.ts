/** What an agent says of itself: its version, its ports, its health. */
import { z } from 'zod';
import { PING_INTERVAL_MS, REPORT_INTERVAL_MS } from './limits.ts';
import { ToldFacts } from './facts.ts';
import { wireText } from './text.ts';

const Port = z.int().min(1).max(65_535);
const Version = wireText().min(1).max(64);

/** The ports an agent listens on. Names as in the node's event snapshot. */
export const AgentPorts = z.object({
  http_port: Port,
  ssh_port: Port,
  host_metrics_port: Port,
  wireguard_metrics_port: Port,
  http_proxy_port: Port,
  socks5_proxy_port: Port,
});
export type AgentPorts = z.infer<typeof AgentPorts>;

/**
 * How often an agent that counts bytes shows that it lives, and how often it repeats a report in which nothing changed,
 * in ms. An admin is patient in proportion: two missed pings, three missed reports.
 */
export const SessionRhythm = z.object({
  ping_ms: z.int().min(PING_INTERVAL_MS).max(300_000),
  report_ms: z.int().min(REPORT_INTERVAL_MS).max(3_600_000),
});
export type SessionRhythm = z.infer<typeof SessionRhythm>;

/** What an agent says of itself whenever it enrols or connects. */
export const Registration = z.object({
  version: Version,
  id_type: z.enum(['persistent', 'random']),
  ports: AgentPorts,
  self_update_enabled: z.boolean(),
  /** Absent: as often as PING_INTERVAL_MS and REPORT_INTERVAL_MS say. From version 6 on. */
  rhythm: SessionRhythm.optional(),
  /** Absent from an agent before version 7. */
  facts: ToldFacts.optional(),
});
export type Registration = z.infer<typeof Registration>;

/** One service of the agent. `detail` is one sentence for an operator, free of secrets and addresses. */
export const ServiceReport = z.object({
  name: wireText().min(1).max(64),
  healthy: z.boolean(),
  detail: wireText().max(512).nullable(),
});

/** Health of an agent: healthy when all of its services are. */
export const HealthReport = z.object({ services: z.array(ServiceReport).max(32) });
export type HealthReport = z.infer<typeof HealthReport>;
