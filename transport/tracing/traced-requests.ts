/** Requests to agents as parts of the trace of whoever asked for them. */
import type { Tracer } from '../../actors/tracer.ts';
import { traceparentOf } from '../protocol/trace-context.ts';
import type { AgentRequests } from '../tunnels/agent-requests.ts';

/** The same requests, each with a `traceparent` of its own where there is a trace to continue. */
export function tracedRequests(requests: Pick<AgentRequests, 'get'>, tracer: Tracer): Pick<AgentRequests, 'get'> {
  return {
    async get(node, wanted) {
      const parent = tracer.current();
      if (parent === null) return requests.get(node, wanted);
      const span = tracer.begin(parent);
      const startMs = Date.now();
      const beganMs = performance.now();
      const answer = await requests.get(node, {
        ...wanted,
        headers: { ...wanted.headers, traceparent: traceparentOf(span.context) },
      });
      if (tracer.isOn && span.context.sampled) {
        tracer.ended({
          ...span,
          name: `agent ${wanted.server}`,
          kind: 'client',
          startMs,
          endMs: startMs + (performance.now() - beganMs),
          attributes: { 'edge.node': node, 'http.request.method': 'GET' },
          failure: answer.ok ? null : answer.failure,
        });
      }
      return answer;
    },
  };
}
