/** A machine behind its agent, somebody who may log in there, and programs that are run to their end. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { FLEET_KEYS, type Fleet } from '../../../support/fleet.ts';
import type { Scope } from '../../../support/scope.ts';
import { startEdge, type Ended, type RunningEdge } from '../../../support/edge-program.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Alias of the first agent. */
export const ALIAS = 'web-1';

/** Who may log in. */
export const USERNAME = 'deploy';

/** What a test says to the fleet as its user. */
export interface ReachFixture {
  readonly node: NodeResource;
  /** Host name of the alias. */
  readonly host: string;
  readonly directory: string;
  /** All that `edge` needs to know. */
  readonly env: Readonly<Record<string, string>>;
  edge(...words: string[]): Promise<Ended>;
  start(words: readonly string[], more?: Readonly<Record<string, string>>): RunningEdge;
  /** Runs another program, which starts `edge` itself where it needs to. */
  run(
    program: string,
    words: readonly string[],
    input?: string | Buffer,
    more?: Readonly<Record<string, string>>,
  ): Promise<Ended>;
}

/** The fixture of a fleet with one agent that has the alias. */
export async function createReachFixture(scope: Scope, fleet: Fleet): Promise<ReachFixture> {
  const directory = temporaryDirectory(scope);
  mkdirSync(join(directory, 'home'));
  const [admin] = fleet.admins;
  const [agent] = fleet.agents;
  if (admin === undefined || agent === undefined) throw new Error('there is no fleet');
  const node = await fleet.node(agent);
  const host = node.aliases[0]?.vpn_hostname ?? '';
  const env = {
    EDGE_URL: admin.url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
    EDGE_PROXY_URL: `http://127.0.0.1:${admin.httpProxyPort}`,
    EDGE_SOCKS5_URL: `socks5://127.0.0.1:${admin.socks5ProxyPort}`,
    EDGE_PROXY_KEY: FLEET_KEYS.PROXY_KEY,
    XDG_CONFIG_HOME: join(directory, 'con fig'),
    HOME: join(directory, 'home'),
  };
  const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}): RunningEdge =>
    startEdge(words, { ...env, ...more });
  return {
    node,
    host,
    directory,
    env,
    start,
    edge: (...words) => start(words).ended,
    async run(program, words, input = '', more = {}) {
      const child = spawn(program, words, {
        env: { PATH: process.env['PATH'] ?? '', ...env, ...more },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      child.stdin.on('error', () => {}); // it may end before it has read all
      child.stdin.end(input);
      const [[status], stdout, stderr] = await Promise.all([
        once(child, 'close'),
        text(child.stdout),
        text(child.stderr),
      ]);
      return { status: status as number | null, stdout, stderr };
    },
  };
}

/**
 * Makes a key pair, lets it in as USERNAME, and answers options of ssh that use it and nothing of this machine's own.
 */
export async function allowLogin(fleet: Fleet, { node, directory }: ReachFixture): Promise<readonly string[]> {
  const file = join(directory, 'id ed25519');
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'fixture', '-f', file]);
  await fleet.rest.post(`/nodes/${node.id}/ssh_usernames`, {
    username: USERNAME,
    public_keys: [{ key_name: 'fixture', public_key: readFileSync(`${file}.pub`, 'utf8').trim() }],
  });
  return [
    '-o',
    `IdentityFile="${file}"`,
    '-o',
    'IdentitiesOnly=yes',
    '-o',
    'IdentityAgent=none',
    '-o',
    'BatchMode=yes',
  ];
}
