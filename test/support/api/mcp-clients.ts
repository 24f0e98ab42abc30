/** Real MCP clients of both kinds that are in use, behind one shape. */
import {
  Client as CurrentClient,
  StreamableHTTPClientTransport as CurrentTransport,
} from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ExecutionContext } from 'ava';

/** What a tool answered, in either form of the protocol. */
export interface ToolAnswer {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  /** What stands beside the content, for programs. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/** A tool, as it is listed. */
export interface ToolListed {
  readonly name: string;
  readonly inputSchema: { readonly type: string };
  readonly outputSchema?: unknown;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/** A connected client. */
export interface McpClient {
  tools(): Promise<readonly ToolListed[]>;
  call(name: string, input?: Record<string, unknown>): Promise<ToolAnswer>;
  protocol(): string | undefined;
  /** What the server says of itself. */
  server(): { readonly name: string; readonly version: string } | undefined;
}

const ME = { name: 'test', version: '1.0.0' };

/** The client of today, which speaks 2026-07-28 where the server does. */
export async function currentClient(t: ExecutionContext, url: string, key: string | null): Promise<McpClient> {
  const client = new CurrentClient(ME, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new CurrentTransport(new URL(`${url}/mcp`), { requestInit: { headers: authorization(key) } }));
  t.teardown(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, input = {}) => await client.callTool({ name, arguments: input }),
    protocol: () => client.getNegotiatedProtocolVersion(),
    server: () => client.getServerVersion(),
  };
}

/** The client that most programs still have, of the 2025-11-25 protocol. */
export async function olderClient(t: ExecutionContext, url: string, key: string | null): Promise<McpClient> {
  const client = new OlderClient(ME);
  const transport = new OlderTransport(new URL(`${url}/mcp`), { requestInit: { headers: authorization(key) } });
  await client.connect(transport);
  t.teardown(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as ToolAnswer,
    protocol: () => transport.protocolVersion,
    server: () => client.getServerVersion(),
  };
}

function authorization(key: string | null): Record<string, string> {
  return key === null ? {} : { authorization: `Bearer ${key}` };
}
