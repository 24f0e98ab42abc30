/** One MCP server a request: what it offers depends on who asks. */
import { ProtocolError, ProtocolErrorCode, Server, type Tool } from '@modelcontextprotocol/server';
import { CATALOGUE_VERSION } from '../../actors/catalogue-version.ts';
import type { CallOperation } from '../call.ts';
import { catalogue } from '../catalogue.ts';
import { keyed } from '../idempotency.ts';
import type { AnyOperation } from '../operation.ts';
import type { Caller } from '../principals.ts';
import { toolResult, toolsOf } from './tools.ts';

/** The tool list changes only with the program; clients may keep it this long, in ms. */
const TOOLS_TTL_MS = 300_000;

const INSTRUCTIONS = [
  'Manages a fleet of remote machines (nodes), grouped into clusters.',
  'To run a shell script: create_command with a targeting, then get_command for its summary, and list_command_executions with command_id__in for results; get_command_execution has the output.',
  'Lists take page (from 1), page_size, sort (`-` in front for descending; default: newest first) and filters; text filters take * as wildcard, those of times a date-time or a date.',
  'The labels of a list or a targeting are a selector as Kubernetes writes it: env=prod,tier!=db,zone in (a,b),!gpu.',
  'Creates take an idempotency_key of your choice: sent again with the same one and the same arguments within 24 hours, they create nothing new.',
  `This is version ${CATALOGUE_VERSION} of the catalogue of tools.`,
].join(' ');

const OPERATIONS: ReadonlyMap<string, AnyOperation> = new Map(Object.entries(catalogue));

let described: readonly DescribedTool[] | undefined;

interface DescribedTool {
  readonly tool: Tool;
  readonly isPublic: boolean;
}

/**
 * Tools never change while the program runs, so they are described once: when an assistant first asks, as it takes a
 * sixth of a start.
 */
function tools(): readonly DescribedTool[] {
  return (described ??= toolsOf([...OPERATIONS.values()]).map((tool) => ({
    tool,
    isPublic: OPERATIONS.get(tool.name)?.scope === 'public',
  })));
}

/** Who asks, and which tools are shown. */
export interface Asking {
  readonly caller: Caller;
  readonly shows: 'all' | 'public';
  /** Whether the public tools do anything here; else nobody is shown them. */
  readonly offersPublicTools: boolean;
  /** Version of the program. */
  readonly version: string;
}

/** A server for one request of this caller. Calls take the one path of all surfaces, which decides again. */
export function createMcpServer(call: CallOperation, { caller, shows, offersPublicTools, version }: Asking): Server {
  const server = new Server(
    { name: 'edge-fleet-control', version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      cacheHints: {
        'tools/list': { ttlMs: TOOLS_TTL_MS, cacheScope: 'private' },
        'server/discover': { ttlMs: TOOLS_TTL_MS, cacheScope: 'private' },
      },
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: tools().flatMap(({ tool, isPublic }) => ((isPublic ? offersPublicTools : shows === 'all') ? [tool] : [])),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const operation = OPERATIONS.get(params.name);
    if (operation === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool. tools/list has all names.');
    return toolResult(
      operation,
      await call(operation, ...keyed(operation, params.arguments, caller)),
      caller.requestId,
    );
  });
  return server;
}
