/** Two machines with a WireGuard interface each, and what is asked of them. */
import { startInternet } from '../../../support/networks/internet.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import type { Program } from '../../../support/fleet/program.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { peerOf, startEnd, type End } from './device-host.ts';

/** Both machines. */
export type Machines = readonly [Machine, Machine];

/** Two machines that reach each other. They end with the scope. */
export async function startMachines(scope: Scope): Promise<Machines> {
  const internet = await startInternet(scope);
  return [await internet.host('one'), await internet.host('other')];
}

/** An interface on each machine, for as long as the scope; neither knows the other. */
export async function startEnds(scope: Scope, [one, other]: Machines): Promise<readonly [End, End]> {
  return Promise.all([startEnd(scope, one, 5), startEnd(scope, other, 6)]);
}

/** The same, and they know each other. */
export async function startPair(scope: Scope, machines: Machines): Promise<readonly [End, End]> {
  const [one, other] = await startEnds(scope, machines);
  await Promise.all([
    one.device.apply({ set: [peerOf(other)], removed: [] }),
    other.device.apply({ set: [peerOf(one)], removed: [] }),
  ]);
  return [one, other];
}

/** Resolves when an echo comes back, which takes until the sessions are there. */
export async function reaches(machine: Machine, address: string): Promise<void> {
  await until(`an answer of ${address}`, () => machine.succeeds('ping', ['-n', '-c', '1', '-W', '1', address]));
}

/** Whether no echo comes back. */
export async function isSilent(machine: Machine, address: string): Promise<boolean> {
  return !(await machine.succeeds('ping', ['-n', '-c', '3', '-i', '0.1', '-W', '1', address]));
}

/** What `ip` says, one line each. */
export async function ipLines(machine: Machine, ...words: readonly string[]): Promise<string[]> {
  return (await machine.run('ip', words)).stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Addresses of an interface with the lengths of their ranges, sorted. */
export async function addresses(machine: Machine, name: string): Promise<string[]> {
  return (await ipLines(machine, '-oneline', 'address', 'show', 'dev', name))
    .map((line) => /inet6? (\S+)/u.exec(line)?.[1] ?? '')
    .toSorted();
}

/** Ranges that are routed into an interface, sorted, without those of multicast. */
export async function routes(machine: Machine, name: string): Promise<string[]> {
  const all = await Promise.all(['-4', '-6'].map((family) => ipLines(machine, family, 'route', 'show', 'dev', name)));
  return all
    .flat()
    .map((line) => line.split(' ')[0] ?? '')
    .filter((range) => !range.startsWith('ff00:'))
    .toSorted();
}

/** Prints the type and the length of each packet of WireGuard that arrives, and from when on it listens. */
const LISTENER =
  "require('dgram').createSocket('udp4').on('message', (packet) => console.log(packet[0], packet.length)).bind(47000, () => console.log('listens'))";

/** Listens where nobody of WireGuard is, for as long as the scope. `program` prints what arrives. */
export async function listen(
  scope: Scope,
  { machine }: End,
): Promise<{ readonly endpoint: string; readonly program: Program }> {
  const program = machine.spawn(process.execPath, ['-e', LISTENER]);
  scope.teardown(async () => {
    program.kill();
    await program.ended();
  });
  await until('the listener', () => program.output.includes('listens'));
  return { endpoint: `${machine.address}:47000`, program };
}
