/** This admin and its health as clients see them. */
import { z } from 'zod';
import type { AdminResource } from '../../actors/resources.ts';
import type { SubsystemCheck } from '../operation.ts';

/** An admin: the fields of `AdminResource`. */
export const AdminView: z.ZodType<AdminResource> = z.object({
  id: z.uuid(),
  name: z.string(),
  version: z.string(),
  role: z.literal('admin'),
  admin_cluster_name: z.string(),
  erlang_node_name: z.string(),
  vpn_host_id: z.string().nullable(),
  vpn_hostname: z.string().nullable(),
  max_wireguard_peers: z.int(),
  admin_peer_count: z.int(),
  edge_node_capacity: z.int(),
  last_computed_at: z.iso.datetime(),
}).meta({ id: 'Admin', description: 'The admin that answers.' });

const CheckView: z.ZodType<SubsystemCheck> = z.object({
  name: z.string(),
  healthy: z.boolean(),
  duration_ms: z.number(),
  error: z.string().nullable(),
});

/** The subsystem checks and their sum. */
export const HealthView: z.ZodType<{ readonly healthy: boolean; readonly checks: readonly SubsystemCheck[] }> = z.object({
  healthy: z.boolean(),
  checks: z.array(CheckView),
}).meta({ id: 'AdminHealth', description: 'Every subsystem check, and whether all passed.' });
