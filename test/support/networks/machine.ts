/** A machine of a test's internet: a network of its own, and its own view of the few files that a VPN may write. */
import { execFile, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Program } from '../fleet/program.ts';
import type { Scope } from '../scope.ts';
import type { Link, Port } from './ethernet.ts';
import { createNamespace, type Namespace } from './namespace.ts';

/** One program of a test, on a busy machine, in ms. */
const RUN_MS_MAX = 60_000;

/**
 * What is its own, besides its network: the names that it knows, where it asks for others, the sockets of wireguard-go,
 * and what the kernel tells of interfaces. The last line says that all is there.
 */
const FURNISH = `
mkdir -p /run/wireguard
mount -t tmpfs tmpfs /run/wireguard
mount -t sysfs sysfs /sys
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/resolv.conf" /etc/resolv.conf
echo furnished
exec cat
`;

/** Where a machine stands: what it is plugged into, and from where it gets its addresses. */
export interface Place {
  readonly scope: Scope;
  /** For files of machines. */
  readonly directory: string;
  readonly plug: (namespace: Namespace) => Promise<Port>;
  /** One that nobody has, with the length of its network. */
  readonly freeAddress: () => string;
  /** Null: none is needed. */
  readonly gateway: string | null;
  /** Lines for its file of hosts. */
  readonly hosts: () => string;
}

/** How a program ended that was waited for. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

/** A running machine. */
export interface Machine {
  readonly name: string;
  /** In the network that it is plugged into: public, or of its LAN. */
  readonly address: string;
  /** A directory of its own for what runs on it. */
  readonly directory: string;
  readonly link: Link;
  /** Where it is plugged in. */
  readonly port: Port;
  /** Words that lead into it, before those of a command. */
  readonly entry: readonly [string, ...string[]];
  /** Runs a program to its end. Rejects with what it said unless it exits with 0. */
  run(program: string, args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Whether a program exits with 0. */
  succeeds(program: string, args?: readonly string[]): Promise<boolean>;
  /** Starts a program that ends with the scope at the latest. */
  spawn(program: string, args?: readonly string[], env?: Readonly<Record<string, string>>): Program;
  /** Its interface gets another address of its network, and loses the one it had. */
  changeAddress(): Promise<string>;
  /** Its file of hosts as it is now. */
  hosts(): Promise<string>;
}

/** Starts a machine that ends with the scope. */
export async function startMachine(
  { scope, directory: all, plug, freeAddress, gateway, hosts }: Place,
  name: string,
): Promise<Machine> {
  const directory = join(all, name);
  await mkdir(directory);
  await writeFile(join(directory, 'hosts'), `127.0.0.1 localhost\n${hosts()}`);
  await writeFile(join(directory, 'resolv.conf'), '# asks nobody\n');
  const namespace = await createNamespace(scope, name);
  const holder = await furnish(scope, namespace, directory);
  const entry = ['nsenter', '-t', `${holder}`, '-m', '-n', '--'] as const;
  const port = await plug(namespace);
  let address = '';
  const takeAddress = async (): Promise<string> => {
    const taken = freeAddress();
    const before = address;
    [address = ''] = taken.split('/');
    await namespace.shell(
      [
        ...(before === '' ? [] : ['ip addr flush dev eth0']), // and with it all routes
        `ip addr add ${taken} dev eth0`,
        ...(gateway === null ? [] : [`ip route replace default via ${gateway}`]),
      ].join('\n'),
    );
    return address;
  };
  const run: Machine['run'] = (program, args = [], env = {}) =>
    promisify(execFile)(entry[0], [...entry.slice(1), program, ...args], {
      timeout: RUN_MS_MAX,
      env: { ...process.env, ...env },
      maxBuffer: 67_108_864,
    });
  await takeAddress();
  return {
    name,
    directory,
    port,
    entry: [...entry],
    link: port.ethernet.link(port),
    get address() {
      return address;
    },
    run,
    succeeds: (program, args) =>
      run(program, args).then(
        () => true,
        () => false,
      ),
    spawn: (program, args = [], env = {}) => Program.run(scope, entry[0], [...entry.slice(1), program, ...args], env),
    changeAddress: takeAddress,
    hosts: () => readFile(join(directory, 'hosts'), 'utf8'),
  };
}

/** Makes its mounts. They last as long as the process whose id is returned, which ends with this one. */
async function furnish(scope: Scope, namespace: Namespace, directory: string): Promise<number> {
  const [command, ...words] = namespace.entry;
  const holder = spawn(
    command,
    [...words, 'unshare', '--mount', '--propagation', 'private', 'sh', '-euc', FURNISH, 'sh', directory],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  scope.teardown(() => {
    holder.kill('SIGKILL');
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [holder.stdout, holder.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('furnished')) resolve();
      });
    }
    holder.once('error', reject).once('close', () => reject(new Error(`a machine could not be furnished: ${said}`)));
  });
  return holder.pid ?? 0;
}
