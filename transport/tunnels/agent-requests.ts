/**
 * Asking the small HTTP servers of agents, through their tunnels. Answers are untrusted: they are bounded in bytes and
 * time, and nothing of them is believed.
 */
import type { AgentPorts } from '../protocol/agent-description.ts';
import { agentApiKey, type AgentServer } from '../protocol/agent-api.ts';
import type { NodeId } from '../protocol/ids.ts';
import { Places } from '../net/places.ts';
import type { DialFailure } from '../net/streams/dialled.ts';
import { readAnswer, type AgentEndpoint, type AnswerPlace } from './agent-answer.ts';
import type { Answered, AnswerJudge } from './answer-body.ts';
import { createAnswerShelf } from './answer-shelf.ts';
import { AnswerShares } from './answer-shares.ts';
import { KeptStreams } from './kept-streams.ts';
import { COLLECTED_ANSWER_BYTES, createMinorGc } from './minor-gc.ts';
import { AGENT_REQUEST_GIVES_WAY_MS, AGENT_REQUESTS_MAX, NODE_REQUESTS_MAX } from './limits.ts';
import type { Tunnels } from './tunnels.ts';

/** What requests need. */
export interface AgentRequestPorts {
  readonly tunnels: Pick<Tunnels, 'reach'>;
  /** Null: there is no such node. Rejects when the database is away. */
  readonly endpointOf: (node: NodeId) => Promise<AgentEndpoint | null>;
  /** Monotonic time in ms; performance.now unless a test has another. */
  readonly nowMs?: () => number;
  /** KEPT_STREAMS_MAX unless a test wants fewer. */
  readonly keptMax?: number;
}

/** One GET. */
export interface AgentRequest {
  readonly server: AgentServer;
  readonly path: string;
  readonly bytesMax: number;
  readonly msMax: number;
  /** Its answer may come packed by gzip, and is handed on so as well. */
  readonly acceptsGzip?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts: nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** Looks at the answer as it comes, so that one that is wrong ends at once. */
  readonly judge?: AnswerJudge;
}

/**
 * Why there is no answer: `unknown_node`; `unreachable` (no session, no tunnel, nobody at the port); `slow` (not within
 * `msMax`); `invalid` (no HTTP, a status other than 200, encoded, too large, cut, or the judge's word); `overloaded`
 * (too many are asked at once); `abandoned` (its signal aborted).
 */
export type AgentFailure = 'unknown_node' | 'unreachable' | 'slow' | 'invalid' | 'overloaded' | 'abandoned';

/**
 * The whole body, and as it came where it came packed; or why not, in one sentence for an operator, with nothing in it
 * that the node said.
 * `status`: that of an `invalid` answer which was wrong from its head on.
 */
export type AgentAnswer =
  | { readonly ok: true; readonly type: string; readonly body: Buffer; readonly gzip: Buffer | null }
  | {
      readonly ok: false;
      readonly failure: AgentFailure;
      readonly message: string;
      readonly status?: number | undefined;
    };

/** Asks agents. Nobody is asked yet. */
export class AgentRequests {
  readonly #tunnels: AgentRequestPorts['tunnels'];
  readonly #endpointOf: AgentRequestPorts['endpointOf'];
  readonly #nowMs: () => number;
  readonly #ofNode = new Places({ ofOneMax: NODE_REQUESTS_MAX });
  readonly #shares = new AnswerShares();
  readonly #place: AnswerPlace;
  /** Under way with the time when each began, the oldest first; without those that made room. */
  readonly #open = new Map<Limit, number>();

  constructor({ tunnels, endpointOf, nowMs = () => performance.now(), keptMax }: AgentRequestPorts) {
    this.#tunnels = tunnels;
    this.#endpointOf = endpointOf;
    this.#nowMs = nowMs;
    this.#place = {
      streams: new KeptStreams({ keptMax, nowMs }),
      shelf: createAnswerShelf(),
      passed: createMinorGc(COLLECTED_ANSWER_BYTES),
    };
  }

  /** Requests under way. */
  get open(): number {
    return this.#open.size;
  }

  /** Streams that stay open for the next ones. */
  get kept(): number {
    return this.#place.streams.kept;
  }

  /** Never rejects but when the database is away; resolves within `msMax`. */
  async get(node: NodeId, wanted: AgentRequest): Promise<AgentAnswer> {
    const leave = this.#ofNode.take(node);
    if (leave === null)
      return failed('overloaded', `This node is asked ${NODE_REQUESTS_MAX} things at once already: try again shortly.`);
    if (!this.#hasRoom()) {
      leave();
      return CROWDED;
    }
    const limit = limitOf(wanted);
    this.#open.set(limit, this.#nowMs());
    try {
      return await this.#ask(node, wanted, limit);
    } finally {
      limit.end();
      this.#open.delete(limit);
      this.#shares.forget(this.#nowMs());
      leave();
    }
  }

  /** False: all of them are young. */
  #hasRoom(): boolean {
    if (this.#open.size < AGENT_REQUESTS_MAX) return true;
    const [[oldest, sinceMs] = [null, 0]] = this.#open;
    if (oldest === null || this.#nowMs() - sinceMs < AGENT_REQUEST_GIVES_WAY_MS) return false;
    this.#open.delete(oldest);
    oldest.giveWay();
    return true;
  }

  /**
   * Where a stream is kept, as what was known when it was opened: it ends with the credential and with the server.
   * Where its agent had closed it, on another one, as asking for nothing but to read may be repeated.
   */
  async #ask(node: NodeId, wanted: AgentRequest, limit: Limit): Promise<AgentAnswer> {
    const known = this.#place.streams.placeOf(nameOf(node, wanted));
    if (known !== null) {
      const answered = await this.#read(node, wanted, known, limit);
      if (!isStale(answered)) return this.#answer(answered, limit);
    }
    const endpoint = await Promise.race([this.#endpointOf(node), limit.over]);
    if (endpoint === 'over') return limit.failure();
    if (endpoint === null) return failed('unknown_node', 'There is no such node.');
    return this.#answer(await this.#read(node, wanted, endpoint, limit), limit);
  }

  #answer(answered: Answered, limit: Limit): AgentAnswer {
    if (limit.signal.aborted) return limit.failure();
    if (answered.ok) return answered;
    if ('dialled' in answered) return failed(FAILURES[answered.dialled.failure], SENTENCES[answered.dialled.failure]);
    if (answered.isOverloaded === true) return failed('overloaded', answered.problem);
    return { ok: false, failure: 'invalid', message: answered.problem, status: answered.status };
  }

  /** With the key, where that server asks for one. */
  #read(node: NodeId, wanted: AgentRequest, endpoint: AgentEndpoint, { signal }: Limit): Promise<Answered> {
    const { server, path, bytesMax, acceptsGzip, judge } = wanted;
    const key: Readonly<Record<string, string>> =
      server === 'api' ? { authorization: `Bearer ${agentApiKey(endpoint.tokenHash)}` } : {};
    const port = endpoint.ports[PORT_OF[server]];
    const stream = {
      name: nameOf(node, wanted),
      place: endpoint,
      dial: () => this.#tunnels.reach(node, { use: 'self', host: 'localhost', port, server }, signal),
    };
    const take = (bytes: number): boolean => this.#shares.take(node, bytes, this.#nowMs());
    const headers = { ...wanted.headers, ...key };
    return readAnswer({ stream, path, bytesMax, acceptsGzip, judge, headers, take }, this.#place, signal);
  }
}

/** Nothing came on the stream that was kept, and so nothing was done. */
function isStale(answered: Answered): boolean {
  return !answered.ok && 'problem' in answered && answered.isStale === true;
}

function nameOf(node: NodeId, { server }: AgentRequest): string {
  return `${node} ${server}`;
}

/** How long one request may go on. */
interface Limit {
  readonly signal: AbortSignal;
  /** Resolves when the time is over, nobody waits any more, or others need its place. */
  readonly over: Promise<'over'>;
  /** Ends it for others. */
  giveWay(): void;
  /** Which of the three it was. */
  failure(): AgentAnswer;
  /** The request is done. */
  end(): void;
}

function limitOf({ msMax, signal }: AgentRequest): Limit {
  const controller = new AbortController();
  const { promise: over, resolve } = Promise.withResolvers<'over'>();
  const abort = (): void => {
    controller.abort();
    resolve('over');
  };
  const timer = setTimeout(abort, msMax);
  let gaveWay = false;
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return {
    signal: controller.signal,
    over,
    giveWay() {
      gaveWay = true;
      abort();
    },
    failure() {
      if (signal?.aborted === true) return failed('abandoned', 'Nobody waits for the answer any more.');
      return gaveWay ? CROWDED : failed('slow', `The node did not answer within ${msMax} ms.`);
    },
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

const PORT_OF = {
  api: 'http_port',
  host_metrics: 'host_metrics_port',
  wireguard_metrics: 'wireguard_metrics_port',
} as const satisfies Record<AgentServer, keyof AgentPorts>;

/** What a failed dial is here. */
const FAILURES: Readonly<Record<DialFailure, AgentFailure>> = {
  timed_out: 'slow',
  overloaded: 'overloaded',
  refused: 'unreachable',
  unreachable: 'unreachable',
  unresolved: 'unreachable',
  failed: 'unreachable',
  blocked: 'unreachable',
  loop: 'unreachable',
  unknown_node: 'unreachable',
  offline: 'unreachable',
};

/** And what is said of it: not the node's own words, which may hold anything. */
const SENTENCES: Readonly<Record<DialFailure, string>> = {
  refused: 'Nobody listens at the port of the node for this: see whether that service of its agent is up.',
  timed_out: 'The node took too long to connect to its own port.',
  overloaded: 'Too many connections to the node are open: try again shortly.',
  offline: 'The node is not connected: see its status, or try again shortly.',
  unknown_node: 'There is no such node.',
  unreachable: 'The node cannot reach its own port.',
  unresolved: 'The node cannot reach its own port.',
  failed: 'The node cannot reach its own port.',
  blocked: 'The node refuses to connect to its own port.',
  loop: 'The node refuses to connect to its own port.',
};

const CROWDED = failed('overloaded', 'Too many nodes are asked at once: try again shortly.');

function failed(failure: AgentFailure, message: string): AgentAnswer {
  return { ok: false, failure, message };
}
