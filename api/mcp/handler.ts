/** The MCP library at work: one server a request. Apart from `mount.ts`, which loads it with the first request. */
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Log } from '../../transport/net/log.ts';
import type { CallOperation } from '../call.ts';
import { createMcpServer, type Asking } from './server.ts';

/** Streams for news of the tool list, which never has any. */
const LISTENERS_MAX = 64;

/** Answers requests that were let in. */
export interface McpHandler {
  readonly serve: ReturnType<typeof toNodeHandler>;
  /** Ends what is open. */
  close(): Promise<void>;
}

/** Nobody asks yet. Who does stands in `auth.extra.asking` of the request, as an `Asking`. */
export function createHandler(call: CallOperation, log: Log): McpHandler {
  const handler = createMcpHandler(({ authInfo }) => createMcpServer(call, authInfo?.extra?.['asking'] as Asking), {
    maxSubscriptions: LISTENERS_MAX,
    onerror: (error) => log.debug({ error }, 'an MCP request was refused'),
  });
  return { serve: toNodeHandler(handler), close: () => handler.close() };
}
