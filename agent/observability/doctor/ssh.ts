/**
 * The SSH server: whether it listens and greets, the key that clients know it by, and whether users can become
 * accounts.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import ssh2 from 'ssh2';
import { fingerprintOf } from '../../../transport/protocol/ssh.ts';
import { scriptPath } from '../../access/ssh/sessions/scripted-terminal.ts';
import { failed, passed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';

/** What every SSH server says first. Source: RFC 4253, 4.2. */
const GREETING = 'SSH-2.0-';

/** What this check looks at. */
export interface SshSources {
  readonly isEnabled: boolean;
  readonly hostKeyPath: string;
  /** The port that it got; null: it does not listen. Undefined: no agent runs that could. */
  readonly port: () => number | null | undefined;
  readonly problem: () => string | null;
  readonly isRoot: boolean;
  /** Where setpriv may be. Source: agent/access/ssh/sessions/launch.ts. */
  readonly setprivPaths: readonly string[];
}

/** SSH logins into this machine. */
export function sshCheck(sources: SshSources): Check {
  return { name: 'ssh', look: (signal) => ssh(sources, signal) };
}

async function ssh(
  { isEnabled, hostKeyPath, port, problem, isRoot, setprivPaths }: SshSources,
  signal: AbortSignal,
): Promise<Finding> {
  if (!isEnabled) return passed('The SSH server of this machine is switched off (AGENT_SSH_ENABLED).');
  const hasSetpriv = setprivPaths.some((path) => existsSync(path));
  const got = port();
  const terminals = terminalMaker();
  const details = {
    port: got ?? null,
    host_key: await fingerprintAt(hostKeyPath),
    becomes_accounts: isRoot && hasSetpriv,
    terminals,
  };
  const said = problem();
  if (said !== null)
    return failed(
      `The SSH server has a problem: ${said.slice(0, 400)}${said.endsWith('.') ? '' : '.'}`,
      'Free its port or choose another by AGENT_SSH_PORT; a damaged host key has to be restored.',
      details,
    );
  if (got === null)
    return failed('The SSH server does not listen.', 'Look into the log of the agent for why.', details);
  const greeting = got === undefined ? null : await greetingAt(got, signal);
  if (greeting !== null && !greeting.startsWith(GREETING))
    return failed(
      greeting === '' ? 'The SSH server does not greet.' : 'The SSH server turns away connections of this machine.',
      'If logins were tried many times, wait a minute; else restart the agent.',
      details,
    );
  if (terminals === null)
    return warned(
      'Users get no terminal on this machine: neither node-pty nor script is installed. Commands and files work.',
      'Install bsdutils.',
      details,
    );
  if (isRoot && !hasSetpriv)
    return warned(
      'Users cannot become accounts of this machine: setpriv is not installed.',
      'Install util-linux.',
      details,
    );
  const well = got === undefined ? 'SSH can be served' : 'The SSH server listens and greets';
  return passed(
    isRoot
      ? `${well}; users become the accounts of their names.`
      : `${well}; all users get the account of the agent, which is not root.`,
    details,
  );
}

/** What makes terminals here; null: nothing does. */
function terminalMaker(): 'node-pty' | 'script' | null {
  try {
    createRequire(process.argv[1] ?? '/').resolve('@lydell/node-pty');
    return 'node-pty';
  } catch {
    return scriptPath() === null ? null : 'script';
  }
}

/** Reads the key without making one; null when there is none yet, or none that can be read. */
async function fingerprintAt(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const key = ssh2.utils.parseKey(text);
  return key instanceof Error ? null : fingerprintOf(key.getPublicSSH());
}

/** What it says first; empty when it says nothing. */
async function greetingAt(port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: 'localhost', port, signal });
    socket.once('data', (piece: Buffer) => {
      resolve(piece.toString('latin1'));
      socket.destroy();
    });
    socket.on('error', () => resolve('')).on('close', () => resolve(''));
  });
}
