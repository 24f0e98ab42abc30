/** Questions to the API of agents whose answers are JSON of one form. */
import { refuse, type Result } from '../../actors/refusal.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { AgentAnswer, AgentRequest, AgentRequests } from './agent-requests.ts';

/** When whoever was refused because of others may come again, in s. */
const RETRY_SECONDS = 1;

/** The status with which an agent of a release before answers: its API has no such path. */
const NO_SUCH_PATH = 404;

/** What is asked, and what its answer is. */
export interface AgentQuestion<Value> extends Pick<AgentRequest, 'path' | 'bytesMax' | 'msMax'> {
  /** What is said of an agent that is too old to know the path. */
  readonly tooOld: string;
  /** Reads the body of an answer, which may be anything. */
  readonly read: (body: Uint8Array) => Result<Value>;
}

/**
 * Asks one agent. `not_found`: there is no such node; `conflict`: its agent is too old; `service_unavailable`: it
 * cannot be asked, or answers with something else. Rejects with DatabaseUnavailable.
 */
export async function askAgent<Value>(
  requests: Pick<AgentRequests, 'get'>,
  node: NodeId,
  { tooOld, read, ...wanted }: AgentQuestion<Value>,
): Promise<Result<Value>> {
  const answer = await requests.get(node, { server: 'api', ...wanted });
  if (answer.ok) return read(answer.body);
  return answer.status === NO_SUCH_PATH ? refuse('conflict', tooOld) : unanswered(answer);
}

/** What a client is told where there is no answer. */
export function unanswered({ failure, message }: Extract<AgentAnswer, { ok: false }>): Result<never> {
  if (failure === 'unknown_node') return refuse('not_found', 'Resource not found');
  const { refusal } = refuse('service_unavailable', message);
  return { ok: false, refusal: failure === 'overloaded' ? { ...refusal, retryAfterSeconds: RETRY_SECONDS } : refusal };
}

/** What a body says; undefined: it is no JSON in UTF-8. */
export function parsedJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
