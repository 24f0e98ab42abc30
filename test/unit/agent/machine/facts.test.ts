/** What an agent finds out about its machine, in trees of files. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { machineFacts } from '../../../../agent/machine/facts.ts';
import { FactsWatch } from '../../../../agent/machine/facts-watch.ts';
import { NodeFacts, ToldFacts } from '../../../../transport/protocol/facts.ts';
import { FACTS } from '../../../support/actors.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const INTEL =
  'processor\t: 0\nmodel name\t: Intel(R) N100\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: Intel(R) N100\n';
const VIRTUAL = INTEL.replace('vme', 'vme hypervisor');
const ARM = 'processor\t: 0\nBogoMIPS\t: 108.00\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n';

/** Facts of a machine with these files, by their paths below its root. */
function factsOf(t: ExecutionContext, files: Readonly<Record<string, string>>, zone?: string): NodeFacts {
  const root = temporaryDirectory(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (zone !== undefined) {
    mkdirSync(join(root, 'etc'), { recursive: true });
    symlinkSync(zone, join(root, 'etc/localtime'));
  }
  return machineFacts(FACTS.ssh_host_key, { proc: join(root, 'proc'), sys: join(root, 'sys'), root });
}

test('a machine is what its kernel and its distribution say', (t) => {
  const facts = factsOf(
    t,
    {
      'proc/sys/kernel/hostname': 'press-7.example.com\n',
      'proc/sys/kernel/osrelease': '6.12.48+deb13-amd64\n',
      'proc/sys/kernel/random/boot_id': '5f0c7e1e-2f0a-4c43-9a60-6b1d2c3e4f50\n',
      'proc/cpuinfo': INTEL,
      'proc/meminfo': 'MemTotal:        7934472 kB\nMemFree: 1 kB\n',
      'etc/os-release': 'ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    },
    '../usr/share/zoneinfo/Europe/Berlin',
  );

  t.like(facts, {
    hostname: 'press-7.example.com',
    os: 'debian',
    os_version: '13',
    os_name: 'Debian GNU/Linux 13 (trixie)',
    kernel: '6.12.48+deb13-amd64',
    cpu_model: 'Intel(R) N100',
    cpu_count: 2,
    memory_bytes: 8_124_899_328,
    virtualization: 'none',
    boot_id: '5f0c7e1e-2f0a-4c43-9a60-6b1d2c3e4f50',
    time_zone: 'Europe/Berlin',
    ssh_host_key: FACTS.ssh_host_key,
  });
});

test('a machine that tells nothing of itself still has facts that the wire takes', (t) => {
  const facts = factsOf(t, { 'proc/sys/kernel/random/boot_id': 'broken' });

  t.true(NodeFacts.safeParse(facts).success);
  t.like(facts, {
    os: 'linux',
    os_version: null,
    os_name: null,
    boot_id: null,
    virtualization: null,
    time_zone: 'UTC',
  });
});

test('what is too long is cut, and this very machine has facts', (t) => {
  const facts = factsOf(t, {
    'proc/sys/kernel/hostname': 'x'.repeat(400),
    'etc/os-release': `ID=${'d'.repeat(100)}\nPRETTY_NAME="${'é'.repeat(300)}"\n`,
  });

  t.deepEqual([facts.hostname.length, facts.os.length, facts.os_name?.length], [253, 64, 128]);
  t.true(NodeFacts.safeParse(machineFacts(null)).success);
});

test('a host key is one key on one line, whatever an agent says', (t) => {
  const isTaken = (key: unknown) => ToldFacts.safeParse({ ...FACTS, ssh_host_key: key }).success;

  t.deepEqual([FACTS.ssh_host_key, null, undefined].map(isTaken), [true, true, true]);
  const wrong = [
    '',
    'ssh-rsa AAAA',
    `${FACTS.ssh_host_key} me`,
    `${FACTS.ssh_host_key}\n* ssh-ed25519 AAAA`,
    `*,${FACTS.ssh_host_key}`,
  ];
  t.deepEqual(wrong.filter(isTaken), []);
});

for (const [name, files, virtualization] of [
  ['hardware', { 'proc/cpuinfo': INTEL }, 'none'],
  ['EC2 without a hypervisor', { 'proc/cpuinfo': INTEL, 'sys/class/dmi/id/sys_vendor': 'Amazon EC2' }, 'none'],
  ['EC2', { 'proc/cpuinfo': VIRTUAL, 'sys/class/dmi/id/sys_vendor': 'Amazon EC2\n' }, 'amazon'],
  [
    'QEMU with KVM',
    {
      'proc/cpuinfo': VIRTUAL,
      'sys/class/dmi/id/sys_vendor': 'QEMU',
      'sys/devices/system/clocksource/clocksource0/available_clocksource': 'kvm-clock tsc',
    },
    'kvm',
  ],
  ['QEMU without', { 'proc/cpuinfo': VIRTUAL, 'sys/class/dmi/id/sys_vendor': 'QEMU' }, 'qemu'],
  ['VirtualBox', { 'proc/cpuinfo': VIRTUAL, 'sys/class/dmi/id/product_name': 'VirtualBox' }, 'oracle'],
  ['VMware', { 'proc/cpuinfo': VIRTUAL, 'sys/class/dmi/id/sys_vendor': 'VMware, Inc.' }, 'vmware'],
  ['Xen', { 'proc/cpuinfo': VIRTUAL, 'sys/hypervisor/type': 'xen' }, 'xen'],
  ['a hypervisor that nobody names', { 'proc/cpuinfo': VIRTUAL }, 'vm-other'],
  ['a Raspberry Pi', { 'proc/cpuinfo': ARM }, 'none'],
  ['ARM under KVM', { 'proc/cpuinfo': ARM, 'proc/device-tree/hypervisor/compatible': 'linux,kvm\0' }, 'kvm'],
  ['WSL', { 'proc/cpuinfo': VIRTUAL, 'proc/sys/kernel/osrelease': '5.15.167.4-microsoft-standard-WSL2' }, 'wsl'],
  ['LXC', { 'proc/cpuinfo': VIRTUAL, 'run/systemd/container': 'lxc\n' }, 'lxc'],
  ['a container of its own kind', { 'run/systemd/container': 'My Own!' }, 'container-other'],
  ['nspawn', { 'proc/1/environ': 'PATH=/bin\0container=systemd-nspawn\0' }, 'systemd-nspawn'],
  ['Docker', { 'proc/cpuinfo': VIRTUAL, '.dockerenv': '' }, 'docker'],
  ['Podman', { 'run/.containerenv': '' }, 'podman'],
] as const)
  test(`${name} is called ${virtualization}`, (t) => {
    t.is(factsOf(t, files).virtualization, virtualization);
  });

test('a Raspberry Pi says its model', (t) => {
  t.is(factsOf(t, { 'proc/cpuinfo': ARM }).cpu_model, 'Raspberry Pi 4');
});

test('what changed is said once somebody hears it, and nothing before the first hello', (t) => {
  let facts = FACTS;
  let isHeard = false;
  const said: string[] = [];
  const watch = new FactsWatch({
    read: () => facts,
    say: ({ hostname }) => {
      said.push(hostname);
      return isHeard;
    },
  });

  watch.look();
  t.is(watch.greeting(), FACTS);
  watch.look();
  t.deepEqual(said, []);
  facts = { ...FACTS, hostname: 'press-8' };
  watch.look();
  isHeard = true;
  watch.look();
  watch.look();

  t.deepEqual(said, ['press-8', 'press-8']);
});
