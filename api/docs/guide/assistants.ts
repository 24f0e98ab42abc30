/** The part of `/guide/integrators` for assistants: how the usual clients of MCP are told of this admin. */
import { shellWord, type Block, type GuideFacts, type Section } from './page.ts';

/** Sections for MCP, one a client. */
export function assistants(facts: GuideFacts): readonly Section[] {
  const url = `${facts.adminUrl}/mcp`;
  return [
    { title: 'Assistants', blocks: [...knowsKey(), ...howItLooks()] },
    claude(url),
    editors(url),
    {
      title: 'What an assistant may do',
      blocks: [
        {
          kind: 'list',
          items: [
            'Everything that a person may: `MCP_KEY` has no smaller scope yet. Each tool says whether it only reads and whether it destroys, and clients ask before they call such a one.',
            'A refusal is a result that the assistant reads, with code, message, details and request id.',
            '`MCP_AUTH_ENABLED=false` lets it in without a key, on loopback only unless you insist.',
          ],
        },
      ],
    },
  ];
}

function knowsKey(): readonly Block[] {
  return [
    {
      kind: 'text',
      text: 'Every operation is also a tool of the Model Context Protocol: Streamable HTTP at `/mcp`, with `MCP_KEY` or `MASTER_KEY` as the bearer token. Wherever a client takes the key from a variable, it is named as in these lines.',
    },
    {
      kind: 'shell',
      commands: 'read -rs EDGE_MCP_KEY && export EDGE_MCP_KEY',
      asks: 'EDGE_MCP_KEY',
    },
  ];
}

function howItLooks(): readonly Block[] {
  return [
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/mcp" -H "Authorization: Bearer $EDGE_MCP_KEY" -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`,
      prints: '…"name":"create_cluster"…"name":"list_nodes"…',
    },
  ];
}

function claude(url: string): Section {
  return {
    title: 'Claude',
    blocks: [
      { kind: 'text', text: 'Claude Code, for all of your projects:' },
      {
        kind: 'shell',
        commands: `claude mcp add --scope user --transport http edge ${shellWord(url)} --header "Authorization: Bearer $EDGE_MCP_KEY"`,
        untested: 'it needs Claude Code',
      },
      { kind: 'text', text: 'Or for all who work in a repository, without the key:' },
      config('.mcp.json', {
        mcpServers: { edge: { type: 'http', url, headers: { Authorization: `Bearer \${EDGE_MCP_KEY}` } } },
      }),
      {
        kind: 'text',
        text: 'Claude Desktop starts programs only, so a bridge stands between. The key is in the file, which only you should be able to read. `--allow-http` is for addresses without TLS.',
      },
      config('claude_desktop_config.json', {
        mcpServers: {
          edge: {
            command: 'npx',
            args: [
              '-y',
              'mcp-remote',
              url,
              ...(url.startsWith('http:') ? ['--allow-http'] : []),
              '--header',
              `Authorization:\${AUTHORIZATION}`,
            ],
            env: { AUTHORIZATION: 'Bearer PASTE-THE-KEY-HERE' },
          },
        },
      }),
    ],
  };
}

function editors(url: string): Section {
  return {
    title: 'Editors',
    blocks: [
      { kind: 'text', text: 'Cursor, in your home directory or in a project:' },
      config('.cursor/mcp.json', {
        mcpServers: { edge: { url, headers: { Authorization: `Bearer \${env:EDGE_MCP_KEY}` } } },
      }),
      { kind: 'text', text: 'Visual Studio Code asks for the key once and keeps it:' },
      config('.vscode/mcp.json', {
        inputs: [{ type: 'promptString', id: 'edge-mcp-key', description: 'MCP_KEY of the fleet', password: true }],
        servers: { edge: { type: 'http', url, headers: { Authorization: `Bearer \${input:edge-mcp-key}` } } },
      }),
      { kind: 'text', text: 'Codex:' },
      {
        kind: 'file',
        name: '~/.codex/config.toml',
        content: `[mcp_servers.edge]\nurl = ${JSON.stringify(url)}\nbearer_token_env_var = "EDGE_MCP_KEY"\n`,
      },
    ],
  };
}

function config(name: string, content: object): Block {
  return { kind: 'file', name, content: `${JSON.stringify(content, null, 2)}\n` };
}
