/** What opening an interface says where it cannot be done, and what it does with what it finds. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ava, { type ExecutionContext } from 'ava';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import type { DeviceOptions } from '../../../../transport/vpn/wireguard/device.ts';
import type { Place } from '../../../../transport/vpn/wireguard/open.ts';
import { startInternet } from '../../../support/networks/internet.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { scaled } from '../../../support/busy.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { DeviceHost, hasEnded, programOf } from './device-host.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'setpriv', 'wireguard-go', 'wg');

const scope = createScope();
let machine: Machine;
let host: DeviceHost;

test.before(async () => {
  machine = await (await startInternet(scope)).host('one');
  host = DeviceHost.start(scope, machine.entry);
});

ava.after.always(() => scope.end());

let count = 0;

/** Of an interface that is removed at the end of the test. */
function optionsOf(t: ExecutionContext): DeviceOptions {
  count += 1;
  const name = `wgo${process.pid % 1_000_000}x${count}`;
  t.teardown(async () => {
    await machine.run('ip', ['link', 'delete', 'dev', name]).catch(() => {});
  }); // most tests leave none
  return { name, privateKey: makeKeyPair().privateKey, listenPort: 42_000 + count, mtu: 1_280 };
}

/** A program that stands for another. */
function script(name: string, text: string): string {
  const path = join(machine.directory, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** As `ip` where the kernel has no WireGuard, so that the tests find the same on every machine. */
function withoutKernel(): Place {
  return {
    machine: {
      ip: script(
        'ip-without',
        'case "$*" in "link add "*) echo "Error: Unknown device type." >&2; exit 2;; esac\nexec ip "$@"',
      ),
    },
  };
}

/** As `ip` where the kernel has it: wireguard-go does its work. */
function withKernel(): Place {
  return {
    machine: {
      ip: script(
        'ip-with',
        'case "$*" in "link add "*" type wireguard") LOG_LEVEL=silent exec wireguard-go "$4" > /dev/null 2>&1;; esac\nexec ip "$@"',
      ),
    },
  };
}

/** Why it is refused there. */
async function problemOf(options: DeviceOptions, place: Place = {}, where = host): Promise<string> {
  const opened = await where.tryOpen(options, place);
  return opened.ok ? 'it was opened' : opened.problem;
}

test.serial('who may not change networks hears it in one sentence, root or not', async (t) => {
  const problem =
    'a WireGuard interface needs root or the capability CAP_NET_ADMIN: run it as root, or give it the capability';
  const nobody = DeviceHost.start(t, [...machine.entry, 'setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']);
  const bareRoot = DeviceHost.start(t, [...machine.entry, 'setpriv', '--bounding-set=-all', '--inh-caps=-all']);
  const options = optionsOf(t);

  t.is(await problemOf(options, {}, nobody), problem);
  t.is(await problemOf(options, {}, bareRoot), problem);
  await nobody.removeDevice(options.name); // there is none, so nothing is refused
});

test.serial('what is missing on the machine is said with what to install or give', async (t) => {
  const options = optionsOf(t);
  const { machine: { ip = '' } = {} } = withoutKernel();
  const problem = (more: Place['machine'], limits: Place['limits'] = {}) =>
    problemOf(options, { machine: { ip, ...more }, limits });

  t.is(await problem({ ip: 'no-such-ip' }), 'the program no-such-ip is not on this machine: install it');
  t.is(
    await problem({ ip: script('ip-of-another', 'echo 1: lo') }),
    `the program ${machine.directory}/ip-of-another does not answer as that of iproute2 does: install iproute2`,
  );
  t.is(
    await problem({ tun: '/nowhere/tun' }),
    'this kernel has no WireGuard, and there is no /nowhere/tun for wireguard-go: load the module tun, or give the container the device (--device /nowhere/tun)',
  );
  t.is(
    await problem({ tun: '/proc/self/environ/tun' }),
    'this kernel has no WireGuard, and /proc/self/environ/tun may not be opened for wireguard-go (ENOTDIR): let the user of this program read and write it',
  );
  t.is(
    await problem({ sockets: '/nowhere/at/all' }),
    'this kernel has no WireGuard, and wireguard-go could make no socket in /nowhere/at/all (ENOENT): make the directory, and give it to the user of this program',
  );
  t.is(
    await problem({ wireguardGo: 'no-such-go' }),
    'this kernel has no WireGuard, and the program no-such-go is not on this machine: install it, or a kernel with WireGuard (Linux 5.6 or newer) and wireguard-tools',
  );
  t.is(await problem({ wireguardGo: 'false' }), 'wireguard-go did not start: it ended with status 1');
  t.is(
    await problem({ wireguardGo: script('go-that-hangs', 'exec sleep 60') }, { startMsMax: 300 }),
    'wireguard-go did not start: it does not answer after 300 ms',
  );
  t.is(
    await problemOf({ ...options, name: 'a name' }),
    'the name of an interface has 1 to 15 letters, digits, or characters of _ = + . -',
  );
});

for (const [what, words] of [
  ['a bridge', ['link', 'add', 'NAME', 'type', 'bridge']],
  ['a tunnel of another program', ['tuntap', 'add', 'dev', 'NAME', 'mode', 'tun']],
] as const) {
  test.serial(`${what} that has the name stays, and is the problem`, async (t) => {
    const options = optionsOf(t);
    await machine.run(
      'ip',
      words.map((word) => (word === 'NAME' ? options.name : word)),
    );
    const problem = `there is an interface ${options.name} that is none of WireGuard's: remove or rename it`;

    t.is(await problemOf(options), problem);
    await t.throwsAsync(host.removeDevice(options.name), { message: problem });
    await t.notThrowsAsync(machine.run('ip', ['link', 'show', 'dev', options.name]));
  });
}

test.serial(
  'an interface name of another network namespace and a port in use are refused and leave nothing behind',
  async (t) => {
    const options = optionsOf(t);
    const elsewhere = DeviceHost.start(t, [...machine.entry, 'unshare', '--net']);
    const place = { limits: { endMsMax: 300 } };
    const device = await elsewhere.open(options, withoutKernel());
    t.is(
      await problemOf(options, { ...withoutKernel(), ...place }),
      `another network namespace of this machine has a WireGuard interface ${options.name}, and their sockets are in one directory`,
    );
    await host.removeDevice(options.name); // it is not here
    t.deepEqual(await device.read(), []);
    await device.remove();

    const second = { ...optionsOf(t), listenPort: options.listenPort };
    await host.open(options);
    t.regex(await problemOf(second), / in use$/u);
    await t.throwsAsync(machine.run('ip', ['link', 'show', 'dev', second.name]));
    await hasEnded(second.name);
  },
);

test.serial('the kernel makes it where it can: ip makes the interface, wg gives it key and port', async (t) => {
  const options = optionsOf(t);
  const { publicKey } = makeKeyPair();

  const device = await host.open(options, withKernel());

  t.deepEqual([device.backend, device.isAdopted], ['kernel', false]);
  await device.apply({
    set: [{ publicKey, allowedIps: ['100.64.0.7/32'], endpoint: null, keepaliveSeconds: 0 }],
    removed: [],
  });
  await device.setAddresses(['100.64.0.9/24']);
  t.regex(
    (await machine.run('ip', ['address', 'show', 'dev', options.name])).stdout,
    /,UP.*mtu 1280 [\s\S]*inet 100\.64\.0\.9\/24/u,
  );
  t.deepEqual(
    (await device.read()).map((peer) => peer.publicKey),
    [publicKey],
  );
  const second = { ...optionsOf(t), listenPort: options.listenPort };
  await device.remove();
  await t.throwsAsync(machine.run('ip', ['link', 'show', 'dev', options.name]));
  t.is((await host.open(second, withKernel())).backend, 'kernel');
});

test.serial('a kernel that has WireGuard is of no use without wg: wireguard-go does it', async (t) => {
  const options = optionsOf(t);
  const place = withKernel();

  const device = await host.open(options, { machine: { ...place.machine, wg: 'no-such-wg' } });

  t.is(device.backend, 'user-space');
  t.is(
    await problemOf(optionsOf(t), { machine: { ...place.machine, wg: 'no-such-wg', wireguardGo: 'no-such-go' } }),
    'this kernel has WireGuard, but the program no-such-wg is not on this machine: install it, and the program no-such-go is not on this machine: install it, or a kernel with WireGuard (Linux 5.6 or newer) and wireguard-tools',
  );
});

test.serial('a program that hangs is ended by force, and replaced', async (t) => {
  const options = optionsOf(t);
  const neighbour = optionsOf(t);
  await (await host.open(options, withoutKernel())).release();
  const other = await host.open(neighbour, withoutKernel());
  process.kill(programOf(options.name), 'SIGSTOP');
  const place = { ...withoutKernel(), limits: { answerMsMax: scaled(500), endMsMax: 300 } };

  const device = await host.open(options, place);

  t.is(device.isAdopted, false);
  t.deepEqual(await device.read(), []);
  process.kill(programOf(options.name), 'SIGSTOP');
  await host.removeDevice(options.name, place);
  await hasEnded(options.name);
  t.deepEqual(await other.read(), [], 'other programs live on');
});

test.serial('what a program left that was killed is no hindrance, also to removal', async (t) => {
  const options = optionsOf(t);
  await host.open(options, withoutKernel());
  const socket = `/var/run/wireguard/${options.name}.sock`;
  process.kill(programOf(options.name), 'SIGKILL');
  await until(
    'the end of the interface',
    async () => !(await machine.succeeds('ip', ['link', 'show', 'dev', options.name])),
  );
  await machine.run('test', ['-S', socket]);

  await host.removeDevice(options.name);
  await t.throwsAsync(machine.run('test', ['-S', socket]));
  t.is((await host.open(options, withoutKernel())).isAdopted, false);
});
