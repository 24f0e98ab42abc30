/** MCP at POST /mcp: Streamable HTTP without sessions, in both forms of the protocol that clients speak today. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NOT_LOADED, refuse, type Refusal } from '../../actors/refusal.ts';
import { latePart } from '../../transport/net/late-part.ts';
import { sendRefusal } from '../rest/answers.ts';
import { boundKeylessBodies } from '../rest/keyless-bodies.ts';
import { callerOf } from '../rest/requests.ts';
import type { Mount } from '../rest/server.ts';
import type { McpHandler } from './handler.ts';
import type { Asking } from './server.ts';

/** Where it is served. */
export const MCP_PATH = '/mcp';

/** Messages in one body: batches of the protocol's older form. */
const BATCH_MESSAGES_MAX = 32;

/** An answer that takes longer is cut, in ms: twice what a call may take (`ASK_MS_MAX` and its tries). */
const ANSWER_MS_MAX = 60_000;

/** What MCP depends on besides the catalogue. */
export interface McpOptions {
  /**
   * Whether the public tools do anything: PUBLIC_ENROLLMENT_KEY_ENABLED and DEFAULT_CLUSTER_NAME. Else nobody is shown
   * them.
   */
  readonly offersPublicTools: boolean;
  /** Version of the program. */
  readonly version: string;
  /** For tests, in place of ANSWER_MS_MAX. */
  readonly answerMsMax?: number;
}

/** Mounts it on the API server. MCP_KEY or MASTER_KEY gets in; without a credential only the public tools are there. */
export function mountMcp({ offersPublicTools, version, answerMsMax = ANSWER_MS_MAX }: McpOptions): Mount {
  return ({ app, call, gate, log }) => {
    /** What is open; null: nobody asked yet. */
    let open: McpHandler | null = null;
    const loaded = latePart('mcp', async () => (open ??= (await import('./handler.ts')).createHandler(call, log)), log);

    const preParsing = boundKeylessBodies((request) => gate.identify(callerOf(request, 'mcp')) !== null);
    app.post(MCP_PATH, { preParsing }, async (request, reply) => {
      const refusal = refusalOf(request);
      if (refusal !== null) return sendRefusal(reply, refusal);
      const caller = callerOf(request, 'mcp');
      const admitted = gate.admit('api', caller);
      if (!admitted.ok && (caller.credential !== null || admitted.refusal.code !== 'unauthorized'))
        return sendRefusal(reply, admitted.refusal);
      const asking: Asking = { caller, offersPublicTools, version, shows: admitted.ok ? 'all' : 'public' };
      const handler = await loaded();
      return handler === null ? sendRefusal(reply, NOT_LOADED) : answer(handler, request, reply, asking);
    });
    app.route({
      method: ['GET', 'DELETE', 'PUT', 'PATCH'],
      url: MCP_PATH,
      handler: (_request, reply) => sendRefusal(reply.header('allow', 'POST'), NO_SESSIONS),
    });
    app.addHook('preClose', async () => open?.close());

    async function answer(
      { serve }: McpHandler,
      request: FastifyRequest,
      reply: FastifyReply,
      asking: Asking,
    ): Promise<void> {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      if (reply.raw.destroyed) return;
      const late = setTimeout(() => reply.raw.destroy(), answerMsMax);
      reply.raw.once('close', () => clearTimeout(late));
      const auth = { token: asking.caller.credential ?? '', clientId: 'mcp', scopes: [], extra: { asking } };
      await serve(Object.assign(request.raw, { auth }), reply.raw, request.body);
    }
  };
}

const NO_SESSIONS = refuse('method_not_allowed', 'MCP here has no sessions and no streams: POST only.', {
  method: ['must be POST'],
}).refusal;

/** Pages of other origins were refused before, as the protocol asks servers to do. */
function refusalOf(request: FastifyRequest): Refusal | null {
  if (typeof request.body !== 'object' || request.body === null)
    return refuse('bad_request', 'The body must be a JSON-RPC message.').refusal;
  if (Array.isArray(request.body) && request.body.length > BATCH_MESSAGES_MAX)
    return refuse('bad_request', `At most ${BATCH_MESSAGES_MAX} messages in one body.`).refusal;
  return cancelsItself(request.body) ? CANCELS_ITSELF : null;
}

const CANCELS_ITSELF = refuse(
  'bad_request',
  'A request cannot be cancelled in the body that makes it: what is cancelled is not answered.',
).refusal;

/** A part of a body, as far as it matters here. */
type Message = null | {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: null | { readonly requestId?: unknown };
};

/** The library would keep the stream of the answer open, and say nothing on it for as long as the client stays. */
function cancelsItself(body: object): boolean {
  if (!Array.isArray(body)) return false;
  const messages = body as readonly Message[];
  const ids = new Set(messages.map((message) => message?.id));
  return messages.some(
    (message) => message?.method === 'notifications/cancelled' && ids.has(message.params?.requestId ?? NaN),
  );
}
