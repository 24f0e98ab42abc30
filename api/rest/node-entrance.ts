/**
 * Where nodes bring something over HTTP, with their API token: let in before the body is read, so that whoever may not,
 * or not now, costs little.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { refuse, UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { OperationPorts } from '../ports.ts';
import { sendRefusal } from './answers.ts';
import { bearerOf } from './requests.ts';

/** No token, or one of no node. */
export const NO_TOKEN = refuse('unauthorized', 'This takes the API token of a node.').refusal;

/**
 * On a full entrance whoever was inside for so long, in ms, and sent its body more slowly than this, in bytes a second,
 * makes room for the next node: a body that drips would hold its place for all the time that a request has. 256 kbit/s
 * are a poor uplink of a machine.
 */
export const SLOW_AFTER_MS = 5_000;
export const SLOW_BYTES_PER_SECOND_MAX = 32_768;

/** A request that is inside. */
interface Inside {
  readonly node: NodeId;
  readonly sinceMs: number;
  readonly bytesBefore: number;
}

/** Who gets in. */
export interface EntranceRules {
  /**
   * Requests that are inside at once, over all nodes. One node has one of them, and a slow one makes room: see
   * SLOW_AFTER_MS.
   */
  readonly insideMax: number;
  /** For those who find it full. */
  readonly busy: Refusal;
  /** Ms that this node has to wait, 0 for none, and what it is told. */
  readonly wait: (node: NodeId) => number;
  readonly tooMuch: Refusal;
  /** SLOW_AFTER_MS unless a test has its own. */
  readonly slowAfterMs?: number;
}

/** An entrance. */
export interface NodeEntrance {
  /** To be called when a request comes: refuses it, or lets it in until it was answered or its client is gone. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Whose request it is; null: it is not inside. */
  nodeOf(request: FastifyRequest): NodeId | null;
}

/** An entrance with nobody inside. */
export function createNodeEntrance(
  { reads, vault }: Pick<OperationPorts, 'reads' | 'vault'>,
  { insideMax, busy, wait, tooMuch, slowAfterMs = SLOW_AFTER_MS }: EntranceRules,
): NodeEntrance {
  const inside = new Map<FastifyRequest, Inside>();

  /** False: all of them are quick enough, or came just now. */
  function hasRoom(): boolean {
    if (inside.size < insideMax) return true;
    const nowMs = performance.now();
    for (const [request, { sinceMs, bytesBefore }] of inside) {
      const ms = nowMs - sinceMs;
      if (ms < slowAfterMs || (request.socket.bytesRead - bytesBefore) * 1_000 >= SLOW_BYTES_PER_SECOND_MAX * ms)
        continue;
      inside.delete(request);
      request.raw.destroy();
      return true;
    }
    return false;
  }

  async function refusalOf(request: FastifyRequest, reply: FastifyReply): Promise<Refusal | null> {
    const token = bearerOf(request.headers.authorization);
    const found = token === null || token === '' ? null : await reads.nodeByToken(vault.sha256(token));
    if (found === null) return NO_TOKEN;
    const waitMs = wait(found.node);
    if (waitMs > 0) return { ...tooMuch, retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    if (reply.raw.closed) return busy; // its client went away meanwhile, and nobody would say that it left
    if ([...inside.values()].some(({ node }) => node === found.node) || !hasRoom()) return busy;
    inside.set(request, { node: found.node, sinceMs: performance.now(), bytesBefore: request.socket.bytesRead });
    reply.raw.once('close', () => inside.delete(request));
    return null;
  }

  return {
    async admit(request, reply) {
      const refusal = await refusalOf(request, reply).catch(unavailable);
      if (refusal !== null) await sendRefusal(reply, refusal);
    },
    nodeOf: (request) => inside.get(request)?.node ?? null,
  };
}

/** The refusal of a database that is away; throws everything else. */
export function unavailable(error: unknown): Refusal {
  if (error instanceof DatabaseUnavailable) return UNAVAILABLE;
  throw error;
}
