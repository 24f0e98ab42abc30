/**
 * The programs on the page for integrators run as they are shown, against a real fleet, and the configurations of
 * assistants on it let a real client of MCP in.
 */
import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import ava, { type ExecutionContext } from 'ava';
import { buildClient, CLIENT_PACKAGE } from '../../../deploy/client.ts';
import { createSign } from '../../../transport/events/webhooks/signature.ts';
import { hangAfter } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { textOf } from './guide-blocks.ts';

const run = promisify(execFile);

/** The first program of Go compiles its standard library, on a busy machine, in ms. */
const START_MS_MAX = 240_000;

/** A look whether it answers, in ms: one that got no answer once waited for the five minutes of fetch itself. */
const LOOK_MS_MAX = 5_000;

const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'a plain secret, of 32 characters'];

/** By the ending of a file: what runs it, and how its version is asked for. */
const LANGUAGES: Readonly<Record<string, { readonly command: readonly string[]; readonly version: string }>> = {
  mts: { command: [process.execPath], version: '--version' },
  py: { command: ['python3'], version: '--version' },
  go: { command: ['go', 'run'], version: 'version' },
};

const scope = createScope();
const directory = temporaryDirectory(scope);
let fleet: Fleet;
let files: ReadonlyMap<string, string>;

ava.before(async (t) => {
  t.timeout(hangAfter(START_MS_MAX));
  fleet = await startFleet(scope, {
    agents: 1,
    agentEnv: { AGENT_ALIASES: 'web-1' },
    env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' },
  });
  const page = await (await fetch(`${fleet.admin().url}/guide/integrators`)).text();
  files = new Map(
    [
      ...page.matchAll(
        /<figcaption class="file"><span>(?<name>[^<]+)<\/span>[^\n]*?<\/figcaption><pre[^>]*><code>(?<content>.*?)<\/code>/gsu,
      ),
    ].map(({ groups }) => [groups?.['name'] ?? '', textOf(groups?.['content'] ?? '')]),
  );
  if (files.size === 0) throw new Error('the page shows no files');
  for (const [name, content] of files) if (!name.includes('/')) writeFileSync(join(directory, name), content);
  await buildClient(join(directory, 'node_modules', CLIENT_PACKAGE));
});

ava.after.always(() => scope.end());

for (const [ending, { command }] of Object.entries(LANGUAGES)) {
  const env = () => ({
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    EDGE_URL: fleet.admin().url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  });
  const runs = (name: string, more: Readonly<Record<string, string>> = {}) =>
    run(command[0] ?? '', [...command.slice(1), join(directory, name)], { cwd: directory, env: { ...env(), ...more } });

  test(`fleet.${ending} runs a script on every healthy node and prints what they said`, ending, async (t) => {
    const { stdout, stderr } = await runs(`fleet.${ending}`);

    t.deepEqual([stdout, stderr], ['healthy: 1\nweb-1: hello from Linux (exit 0)\n', '']);
  });

  test(`fleet.${ending} ends with the words of a refusal`, ending, async (t) => {
    const failed = await t.throwsAsync<Error & { stdout: string; stderr: string }>(
      runs(`fleet.${ending}`, { EDGE_API_KEY: 'a-wrong-key-of-the-test' }),
    );

    t.is(failed?.stdout, '');
    t.regex(failed?.stderr ?? '', /^unauthorized: \S.*/u);
  });

  test(`receiver.${ending} takes what the service signed and nothing else`, ending, async (t) => {
    for (const secret of SECRETS) {
      const port = String(await freePort());
      const program = start(t, [...command, join(directory, `receiver.${ending}`)], {
        ...env(),
        WEBHOOK_SECRET: secret,
        PORT: port,
      });
      const url = `http://127.0.0.1:${port}/hook`;
      await until(
        'the receiver',
        async () =>
          (await fetch(url, { method: 'POST', body: '{}', signal: AbortSignal.timeout(LOOK_MS_MAX) }).catch(
            () => null,
          )) !== null,
        START_MS_MAX,
      );

      const webhook = await fleet.rest.post<{ readonly id: string }>('/webhooks', {
        url,
        secret,
        subscribed_events: ['edge.core.test'],
      });
      const event = await fleet.rest.post<{ readonly id: string }>('/events/test', undefined);
      await until('the delivery', () => program.output().includes(event.id));
      await fleet.rest.call('DELETE', `/webhooks/${webhook.id}`);

      t.is(program.output(), `edge.core.test ${event.id}\n`);
      t.deepEqual(
        [
          await post(url, signed(secret, Date.now())),
          await post(url, signed('another secret', Date.now())),
          await post(url, signed(secret, Date.now() - 3_600_000)),
          await post(url, {}),
        ],
        [204, 401, 401, 401],
      );
      program.end();
    }
  });
}

ava.serial('events.mts prints events as they happen', async (t) => {
  const program = start(t, [process.execPath, join(directory, 'events.mts')], {
    EDGE_URL: fleet.admin().url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
  });
  await until('the feed', () => program.output().includes('following'));

  const event = await fleet.rest.post<{ readonly id: string }>('/events/test', undefined);

  await until('the event', () => program.output().includes(event.id));
  t.is(program.output(), `following\nedge.core.test ${event.id}\n`);
});

ava.serial('every configuration of a client of MCP leads to the tools of this admin', async (t) => {
  const configurations = ['.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'].map(
    (name) => JSON.parse(files.get(name) ?? '') as Configuration,
  );
  const desktop = JSON.parse(files.get('claude_desktop_config.json') ?? '') as Configuration;
  const entries = configurations.map(({ mcpServers, servers }) => (mcpServers ?? servers)?.['edge']);

  for (const entry of entries) {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const authorization = (entry?.headers?.['Authorization'] ?? '').replace(/\$\{[^}]+\}/u, FLEET_KEYS.MCP_KEY);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(entry?.url ?? ''), { requestInit: { headers: { authorization } } }),
    );
    t.true((await client.listTools()).tools.some(({ name }) => name === 'list_nodes'));
    await client.close();
  }
  t.deepEqual(desktop.mcpServers?.['edge']?.args?.slice(0, 4), [
    '-y',
    'mcp-remote',
    `${fleet.admin().url}/mcp`,
    '--allow-http',
  ]);
  t.true(files.get('~/.codex/config.toml')?.includes(`url = "${fleet.admin().url}/mcp"`));
});

/** What of a configuration leads to the admin. */
interface Configuration {
  readonly mcpServers?: Readonly<Record<string, Server>>;
  readonly servers?: Readonly<Record<string, Server>>;
}

interface Server {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** A test of a language, where the machine has it. One at a time: each webhook and feed sees the events of all. */
function test(title: string, ending: string, body: (t: ExecutionContext) => Promise<void>): void {
  ava.serial(title, async (t) => {
    t.timeout(hangAfter(START_MS_MAX));
    const { command, version } = LANGUAGES[ending] ?? { command: [], version: '' };
    const has = await run(command[0] ?? '', [version]).then(
      () => true,
      () => false,
    );
    if (has) return body(t);
    t.pass();
    return t.log(`not tried: there is no ${command[0]} on this machine`);
  });
}

/** A program that goes on. */
function start(
  t: ExecutionContext,
  [command = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const child = spawn(command, words, { cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const end = (): void => {
    // With what it started: go runs what it built.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  t.teardown(end);
  return { output: () => output, end };
}

function signed(secret: string, atMs: number): Record<string, string> {
  const timestamp = Math.floor(atMs / 1_000);
  const { edge, standard } = createSign(secret)('an-id', timestamp, Buffer.from(FORGED));
  return {
    'x-edge-signature': edge,
    'webhook-id': 'an-id',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard,
  };
}

const FORGED = JSON.stringify({ type: 'edge.core.test', id: 'an-id' });

async function post(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body: FORGED, headers });
  await answer.arrayBuffer();
  return answer.status;
}
