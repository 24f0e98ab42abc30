/** Asking the small HTTP servers of agents, through their tunnels. Answers are untrusted: they are bounded in bytes and time, and nothing of them is believed. */
import { request, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { agentApiKey, type AgentServer } from '../protocol/agent-api.ts';
import type { AgentPorts } from '../protocol/frames.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { DialFailure } from '../streams/dialled.ts';
import { AGENT_HEADER_BYTES_MAX, AGENT_REQUESTS_MAX } from './limits.ts';
import type { Tunnels } from './tunnels.ts';

/** Where a node is asked, and with what. */
export interface AgentDoor {
  readonly ports: AgentPorts;
  /** SHA-256 of its API token. */
  readonly tokenHash: Uint8Array;
}

/** What requests need. */
export interface AgentRequestPorts {
  readonly tunnels: Pick<Tunnels, 'reach'>;
  /** Null: there is no such node. Rejects when the database is away. */
  readonly doorOf: (node: NodeId) => Promise<AgentDoor | null>;
}

/** One GET. */
export interface AgentRequest {
  readonly server: AgentServer;
  readonly path: string;
  readonly bytesMax: number;
  readonly msMax: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why there is no answer: `unknown_node`; `unreachable` (no session, no tunnel, nobody at the port); `slow` (not within `msMax`); `invalid` (no HTTP, a status other than 200, too large, cut); `overloaded` (too many are asked at once). */
export type AgentFailure = 'unknown_node' | 'unreachable' | 'slow' | 'invalid' | 'overloaded';

/** The whole body, in the pieces in which it came; or why not, in one sentence for an operator. */
export type AgentAnswer = { readonly ok: true; readonly type: string; readonly body: readonly Buffer[] } | { readonly ok: false; readonly failure: AgentFailure; readonly message: string };

/** Asks agents. */
export interface AgentRequests {
  /** Never rejects but when the database is away; resolves within `msMax`. */
  get(node: NodeId, wanted: AgentRequest): Promise<AgentAnswer>;
  /** Requests under way. */
  readonly open: number;
}

/** Nobody is asked yet. */
export function createAgentRequests({ tunnels, doorOf }: AgentRequestPorts): AgentRequests {
  let open = 0;

  async function ask(node: NodeId, wanted: AgentRequest, signal: AbortSignal): Promise<AgentAnswer> {
    const door = await doorOf(node);
    if (door === null) return failed('unknown_node', 'There is no such node.');
    const dialled = await tunnels.reach(node, { use: 'self', host: 'localhost', port: door.ports[PORT_OF[wanted.server]] }, signal);
    if (signal.aborted) return slow(wanted);
    if (!dialled.ok) return failed(FAILURES[dialled.failure] ?? 'unreachable', dialled.message);
    const answer = await read(dialled.stream, wanted, wanted.server === 'api' ? { authorization: `Bearer ${agentApiKey(door.tokenHash)}` } : {}, signal);
    dialled.stream.destroy();
    return answer;
  }

  return {
    get open() {
      return open;
    },
    async get(node, wanted) {
      if (open >= AGENT_REQUESTS_MAX) return failed('overloaded', 'Too many nodes are asked at once: try again shortly.');
      open += 1;
      try {
        return await ask(node, wanted, AbortSignal.timeout(wanted.msMax));
      } finally {
        open -= 1;
      }
    },
  };
}

const PORT_OF = { api: 'http_port', host_metrics: 'host_metrics_port', wireguard_metrics: 'wireguard_metrics_port' } as const satisfies Record<AgentServer, keyof AgentPorts>;

/** What a failed dial is here; all others are `unreachable`. */
const FAILURES: Partial<Record<DialFailure, AgentFailure>> = { timed_out: 'slow', overloaded: 'overloaded' };

function failed(failure: AgentFailure, message: string): AgentAnswer {
  return { ok: false, failure, message };
}

function slow({ msMax }: AgentRequest): AgentAnswer {
  return failed('slow', `The node did not answer within ${msMax} ms.`);
}

/** One request on a stream of its own. */
function read(stream: Duplex, wanted: AgentRequest, key: Readonly<Record<string, string>>, signal: AbortSignal): Promise<AgentAnswer> {
  return new Promise((resolve) => {
    const sent = request({
      createConnection: () => stream, host: 'localhost', path: wanted.path, signal, maxHeaderSize: AGENT_HEADER_BYTES_MAX,
      headers: { ...wanted.headers, ...key, connection: 'close' },
    }, (response) => void body(response, wanted).then(resolve));
    sent.on('error', () => resolve(signal.aborted ? slow(wanted) : failed('invalid', 'The node did not answer as it should.')));
    sent.end();
  });
}

async function body(response: IncomingMessage, wanted: AgentRequest): Promise<AgentAnswer> {
  if (response.statusCode !== 200) return failed('invalid', `The node answered with status ${response.statusCode}.`);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > wanted.bytesMax) return failed('invalid', `The node answered with more than ${wanted.bytesMax} bytes.`);
      pieces.push(piece);
    }
  } catch (error) {
    return (error as Error).name === 'AbortError' ? slow(wanted) : failed('invalid', 'The answer of the node was cut.');
  }
  return { ok: true, type: response.headers['content-type'] ?? '', body: pieces };
}
