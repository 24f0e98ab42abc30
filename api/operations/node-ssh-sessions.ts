/** Who is logged in to a node by SSH now: asked of its agent, which alone knows it. */
import { z } from 'zod';
import { NodeSshSessionsResource } from '../../actors/resources/ssh-session.ts';
import { ok } from '../../actors/refusal.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { operation } from '../operation.ts';

export const get_node_ssh_sessions = operation({
  name: 'get_node_ssh_sessions',
  kind: 'query',
  summary: 'Show who is logged in to a node by SSH now, and what each has open, asked of its agent.',
  rest: { method: 'GET', path: '/nodes/:node_id/ssh_sessions', status: 200 },
  hints: { destructive: false, idempotent: true, openWorld: true },
  conflicts: true,
  input: z.strictObject({ node_id: NodeIdInput }),
  output: NodeSshSessionsResource,
  handle: async ({ node_id }, { ports: { nodeSshSessions, clock } }) => {
    const told = await nodeSshSessions.get(node_id);
    if (!told.ok) return told;
    const nowMs = clock.nowMs(); // ages are from when they were told
    return ok({
      node_id,
      timestamp: new Date(nowMs).toISOString(),
      session_count: told.value.session_count,
      sessions: told.value.sessions.map(({ age_ms: ageMs, ...session }) => ({
        ...session,
        connected_at: new Date(nowMs - ageMs).toISOString(),
      })),
    });
  },
});
