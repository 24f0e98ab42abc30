/**
 * A machine for names: a network and files of its own, in which an agent's names, real resolvers and real clients run.
 * Needs root; nothing of it is seen outside.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import type { VpnMembership, VpnPeer } from '../../../../transport/protocol/vpn.ts';
import type { NameMode } from '../../../../agent/config.ts';
import type { NameWay } from '../../../../agent/vpn/names/ways.ts';
import type { Scope } from '../../../support/scope.ts';
import type { Call, Ran } from './machine-program.ts';

/** Of the machine, as it is made. */
export interface MachineOptions {
  readonly hosts?: string;
  /** Content of resolv.conf, or where it leads as a link. */
  readonly resolvConf?: string | { readonly link: string };
  /** The line of hosts in nsswitch.conf. */
  readonly hostsLookup?: string;
  /** The interface is not up yet. */
  readonly isDown?: boolean;
  /** Shell commands, done before anything else, with the directory of the peer systemd-resolved as `$RESOLVED`. */
  readonly prepare?: string;
  /** The directory of that peer. */
  readonly resolved?: string;
}

/** What names say of themselves. */
export interface NamesState {
  readonly problem: string | null;
  readonly way: NameWay;
  readonly log: readonly string[];
}

/** It runs. */
export interface Machine {
  readonly interfaceName: string;
  /** `resolv.conf`: the resolver, which may be put there. */
  start(mode: NameMode | 'resolv.conf', node?: NodeId): Promise<void>;
  update(network: VpnMembership, peers: readonly VpnPeer[], node?: NodeId): Promise<void>;
  state(node?: NodeId): Promise<NamesState>;
  close(node?: NodeId): Promise<void>;
  /** As if the agent were killed: nothing is removed. */
  forget(node?: NodeId): Promise<void>;
  remove(node?: NodeId): Promise<void>;
  run(program: string, ...words: readonly string[]): Promise<Ran>;
  /** Updates, then asks the system for a name until it has this address: how long that took, in ms. */
  timeTo(network: VpnMembership, peers: readonly VpnPeer[], name: string, address: string): Promise<number>;
  /** Takes port 53 of an address; the same again gives it back. */
  occupy(address: string): Promise<void>;
  file(name: 'hosts' | 'resolv.conf'): string;
  write(name: 'hosts' | 'resolv.conf', text: string): void;
}

const PROGRAM = join(import.meta.dirname, 'machine-program.ts');

/** Files of /etc that programs want to find names, and users. */
const NEEDED = [
  'passwd',
  'group',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'host.conf',
  'services',
  'protocols',
  'dbus-1',
  'systemd',
  'alternatives',
  'localtime',
];

/** The other server in resolv.conf: knows outside.test, and that nothing else is there. See machine-program.ts. */
export const UPSTREAM = '127.0.0.9';

let count = 0;

/** Starts it, and ends everything in it with the scope. */
export async function startMachine(scope: Scope, options: MachineOptions = {}): Promise<Machine> {
  const {
    hosts = '127.0.0.1 localhost\n',
    resolvConf = `nameserver ${UPSTREAM}\n`,
    hostsLookup = 'files dns',
    isDown = false,
    prepare = '',
    resolved = '',
  } = options;
  const directory = mkdtempSync(join(tmpdir(), 'edge-names-'));
  const etc = join(directory, 'etc');
  mkdirSync(join(directory, 'tmp'));
  mkdirSync(etc);
  for (const name of NEEDED)
    if (existsSync(join('/etc', name)))
      cpSync(join('/etc', name), join(etc, name), { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(etc, 'nsswitch.conf'), `passwd: files\ngroup: files\nhosts: ${hostsLookup}\n`);
  writeFileSync(join(etc, 'hosts'), hosts, 'latin1');
  if (typeof resolvConf === 'string') writeFileSync(join(etc, 'resolv.conf'), resolvConf);
  else symlinkSync(resolvConf.link, join(etc, 'resolv.conf'));
  count += 1;
  const interfaceName = `edge${String(process.pid).slice(-6)}${count}`;
  const setup = [
    'set -e',
    'mount -t sysfs sysfs /sys',
    'ip link set lo up',
    `mount --bind '${etc}' /etc`,
    'mount --bind /etc/hosts /etc/hosts', // as containers have it: a file that cannot be replaced
    ...(isDown ? [] : interfaceUp(interfaceName)),
    prepare,
    `exec '${process.execPath}' '${PROGRAM}' ${interfaceName} ${UPSTREAM}`,
  ].join('\n');
  const program = spawn(
    'unshare',
    [
      '--net',
      '--mount',
      '--propagation',
      'private',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'sh',
      '-c',
      setup,
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: join(directory, 'tmp'), RESOLVED: resolved },
    },
  );
  const exited = once(program, 'exit');
  scope.teardown(async () => {
    program.stdin.end();
    await exited;
    rmSync(directory, { recursive: true, force: true });
  });
  program.stdin.on('error', () => {});
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();

  let last: Promise<unknown> = Promise.resolve();
  const call = <T>(what: Call): Promise<T> => {
    const answer = last.then(async (): Promise<T> => {
      program.stdin.write(`${JSON.stringify(what)}\n`);
      const { value, done } = (await lines.next()) as { value: string; done?: boolean };
      if (done === true) throw new Error('the machine stopped');
      const { error, result } = JSON.parse(value) as { readonly error?: string; readonly result: T };
      if (error !== undefined) throw new Error(error);
      return result;
    });
    last = answer.catch(() => {});
    return answer;
  };
  return {
    interfaceName,
    start: (mode, node) =>
      call({
        do: 'start',
        mode: mode === 'resolv.conf' ? 'resolver' : mode,
        mayUseResolvConf: mode === 'resolv.conf',
        node,
      }),
    update: (network, peers, node) => call({ do: 'update', network, peers, node }),
    state: (node) => call({ do: 'state', node }),
    close: (node) => call({ do: 'close', node }),
    forget: (node) => call({ do: 'forget', node }),
    remove: (node) => call({ do: 'remove', node }),
    run: (...words) => call({ do: 'run', words }),
    timeTo: (network, peers, name, address) => call({ do: 'time', network, peers, name, address }),
    occupy: (address) => call({ do: 'occupy', address }),
    file: (name) => readFileSync(join(etc, name), 'latin1'),
    write: (name, text) => {
      writeFileSync(join(etc, name), text, 'latin1');
    },
  };
}

/** Commands that make the interface of the network, with this member's addresses. */
export function interfaceUp(name: string): readonly string[] {
  return [
    `ip link add ${name} type veth peer name other-end`,
    `ip link set ${name} up`,
    'ip link set other-end up',
    `ip addr add 100.64.1.2/24 dev ${name}`,
    `ip -6 addr add fd00:64:1::2/64 dev ${name} nodad`,
  ];
}
