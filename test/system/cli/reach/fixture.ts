/** A machine behind its agent, somebody who may log in there, and programs that are run to their end. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { RunningProgram, startEdge, type Ended } from '../../../support/edge-program.ts';
import { FLEET_KEYS, type Fleet } from '../../../support/fleet.ts';
import type { AdminProgram } from '../../../support/fleet/admin-program.ts';
import { options } from '../../../support/ssh/openssh.ts';
import { allow } from '../../../support/net/reach-fixture.ts';
import type { Scope } from '../../../support/scope.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Alias of the first agent. */
export const ALIAS = 'web-1';

/** Who may log in. */
export const USERNAME = 'deploy';

/** Settings of programs. */
export type Env = Readonly<Record<string, string>>;

/** What a test says to the fleet as its user. */
export interface ReachFixture {
  readonly node: NodeResource;
  /** Host name of the alias. */
  readonly host: string;
  readonly directory: string;
  /** All that `edge` needs to know. */
  readonly env: Env &
    Readonly<Record<'EDGE_URL' | 'EDGE_API_KEY' | 'EDGE_PROXY_URL' | 'EDGE_SOCKS5_URL' | 'EDGE_PROXY_KEY', string>>;
  edge(...words: string[]): Promise<Ended>;
  /** Starts `edge`; it is killed at the end of the test. With null for `stdin` that stays open. */
  start(t: Scope, words: readonly string[], stdin?: string | Buffer | null, more?: Env): RunningProgram;
  /** Runs another program, which starts `edge` itself where it needs to. */
  run(program: string, words: readonly string[], input?: string | Buffer, more?: Env): Promise<Ended>;
}

/** The fixture of a fleet with one agent that has the alias. `admin`: whom `edge` asks, the first one unless given. */
export async function createReachFixture(
  scope: Scope,
  fleet: Fleet,
  admin: Pick<AdminProgram, 'url' | 'httpProxyPort' | 'socks5ProxyPort'> = fleet.admin(),
): Promise<ReachFixture> {
  const directory = temporaryDirectory(scope);
  mkdirSync(join(directory, 'home'));
  const node = await fleet.node();
  const env = {
    EDGE_URL: admin.url,
    EDGE_API_KEY: FLEET_KEYS.API_KEY,
    EDGE_PROXY_URL: `http://127.0.0.1:${admin.httpProxyPort}`,
    EDGE_SOCKS5_URL: `socks5://127.0.0.1:${admin.socks5ProxyPort}`,
    EDGE_PROXY_KEY: FLEET_KEYS.PROXY_KEY,
    XDG_CONFIG_HOME: join(directory, 'con fig'),
    HOME: join(directory, 'home'),
  };
  return {
    node,
    host: node.aliases[0]?.vpn_hostname ?? '',
    directory,
    env,
    start(t, words, stdin, more = {}) {
      const running = startEdge(words, { ...env, ...more }, stdin);
      t.teardown(() => void running.process.kill('SIGKILL'));
      return running;
    },
    edge: (...words) => startEdge(words, env).ended,
    run: (program, words, input, more = {}) => new RunningProgram(program, words, { ...env, ...more }, input).ended,
  };
}

/**
 * Makes a key pair, lets it in as USERNAME, and answers options of ssh that use it and nothing of this machine's own.
 */
export async function allowLogin(fleet: Fleet, { node, directory }: ReachFixture): Promise<readonly string[]> {
  mkdirSync(join(directory, 'my keys'));
  const { path } = await allow(fleet, node.id, USERNAME, join(directory, 'my keys'));
  return options(`IdentityFile="${path}"`, 'IdentitiesOnly=yes', 'IdentityAgent=none', 'BatchMode=yes');
}
