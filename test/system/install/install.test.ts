/** From a plain Debian without Node to a healthy node, and back, by the line that `edge node add` prints. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import plain from 'ava';
import { hangAfter, scaled } from '../../support/busy.ts';
import { certificates } from '../../support/net/certificates.ts';
import { CLUSTER } from '../../support/fleet.ts';
import {
  nodeIn,
  startInstallingFleet,
  VERSION,
  type InstallingFleet,
} from '../../support/installing/installing-fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { procFile, processIds } from '../../support/processes.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'debian-root');

/** From the line to a healthy node on a machine that does nothing else, in s. */
const HEALTHY_S_MAX = 20;

const scope = createScope();
let started: InstallingFleet | undefined;
test.before(async (t) => {
  t.timeout(hangAfter(120_000));
  started = await startInstallingFleet(scope);
});
plain.after.always('the fleet ends', () => scope.end());

function installing(): InstallingFleet {
  if (started === undefined) throw new Error('the fleet did not start');
  return started;
}

/** What is on one list and not on the other. */
function difference(before: readonly string[], after: readonly string[]): readonly string[] {
  return [
    ...before.filter((line) => !after.includes(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
  ];
}

const run = promisify(execFile);

/** Where an image has what it was given. */
const IMAGE_DIRECTORIES = ['etc', 'usr/lib', 'usr/local', 'var/lib'];

const UNINSTALL = 'sh /usr/lib/edge/install.sh --uninstall';

test.serial(
  'one line makes a Debian a healthy node, also twice; uninstalled it stays that node, purged it is as before',
  async (t) => {
    t.timeout(hangAfter(180_000));
    const { fleet, line: lineOf, edge, machine: machineOf } = installing();
    const machine = await machineOf(t);
    await machine.run('rm -r /etc/edge-agent');
    const before = await machine.files();
    const line = await lineOf(CLUSTER, '--name', 'web-1', '--labels', 'env=prod');
    const rehearsed = await machine.run(`${line} --dry-run`);
    const afterRehearsal = await machine.files();
    machine.write('/etc/edge-agent/agent.env', "VPN_ENABLED='false'\n", 0o600);

    const installed = await machine.run(line);
    const node = nodeIn(installed.stdout);
    const command = await fleet.run('echo "$(id -u) $(cat /etc/debian_version | cut -d. -f1)"');
    const [execution] = await fleet.settled(command);
    const pids = await machine.run('cat /run/edge/agent.pid /run/edge/updater.pid');
    const again = await machine.run(line);
    const pidsAfter = await machine.run('cat /run/edge/agent.pid /run/edge/updater.pid');
    const seen = await edge('node', 'get', 'web-1', '-o', 'json');
    await machine.run('echo "AGENT_METERED=false" >> /etc/edge-agent/agent.env');
    const removed = await machine.run(UNINSTALL);
    const between = await machine.run(
      'ls -d /usr/lib/edge /var/lib/edge-updater /usr/local/bin/edge-agent /var/lib/edge-agent/identity.json /etc/edge-agent/agent.env 2>/dev/null',
    );
    const back = await machine.run(`curl -fsSL ${fleet.admin().url}/install.sh | sh`);
    const settings = machine.read('/etc/edge-agent/agent.env');
    const left = await machine.run(`${UNINSTALL} --purge --leave`);

    t.deepEqual(
      { status: rehearsed.status, stderr: rehearsed.stderr, changed: difference(before, afterRehearsal) },
      { status: 0, stderr: '', changed: [] },
    );
    t.regex(
      installed.stdout,
      new RegExp(
        `^edge-agent ${VERSION} runs as node web-1 \\([\\da-f-]{36}\\) in cluster ${CLUSTER}: healthy after \\d+ s\n$`,
        'u',
      ),
      installed.stderr,
    );
    const seconds = Number(/after (?<s>\d+) s/u.exec(installed.stdout)?.groups?.['s']);
    t.log(`healthy after ${seconds} s`);
    t.true(seconds <= scaled(HEALTHY_S_MAX));
    t.like(execution, { status: 'completed', exit_code: 0, output: '0 12\n', node_id: node });
    t.is(again.stdout.replace(/\d+ s\n/u, 'N s\n'), installed.stdout.replace(/\d+ s\n/u, 'N s\n'));
    t.is(pidsAfter.stdout, pids.stdout);
    t.like(JSON.parse(seen.stdout), {
      id: node,
      status: 'healthy',
      version: VERSION,
      self_update_enabled: true,
      labels: { env: 'prod' },
    });
    t.is(
      removed.stdout,
      'edge-agent is removed; identity, data and settings are left in /var/lib/edge-agent and /etc/edge-agent (--purge removes them)\n',
    );
    t.is(between.stdout, '/etc/edge-agent/agent.env\n/var/lib/edge-agent/identity.json\n');
    t.is(nodeIn(back.stdout), node, back.stderr);
    t.regex(settings, /^AGENT_METERED=false$/mu);
    t.is(left.stdout, 'edge-agent is removed, with its identity, data and settings\n', left.stderr);
    t.deepEqual(difference(before, await machine.files()), []);
    t.is((await edge('node', 'get', node)).status, 4);
  },
);

test.serial(
  'a used or expired key ends the line with a sentence; --key-file leaves a good one in no process list or file',
  async (t) => {
    t.timeout(hangAfter(180_000));
    const { fleet, line, machine: machineOf } = installing();
    const { url } = fleet.admin();
    const machine = await machineOf(t);
    const used = await line(CLUSTER);
    await (await fleet.addAgent({ ENROLLMENT_KEY: /\beyJ[\w-]+/u.exec(used)?.[0] ?? '' })).live();
    const expired = await line(CLUSTER, '--expires', '1s');
    const { key } = await fleet.key();
    machine.write('/root/key', key, 0o600);

    const said: string[] = [];
    for (const one of [used, expired])
      said.push((await machine.run(one)).stderr.split('\n').find((text) => text.startsWith('install.sh: ')) ?? '');
    const seen = new Set<string>();
    const looking = setInterval(() => {
      for (const pid of processIds()) {
        const words = procFile(pid, 'cmdline');
        if (words.includes(key)) seen.add(words);
      }
    }, 20);
    const good = await machine.run(`curl -fsSL ${url}/install.sh | sh -s -- --key-file /root/key; rm /root/key`);
    clearInterval(looking);
    const token = machine.read('/var/lib/edge-updater/token').trim();
    const held = await machine.run(
      `grep -rl -e ${key} /etc /var /usr/lib/edge /run 2>/dev/null; grep -rl -e ${token} /etc /var /usr/lib/edge /run`,
    );
    const modes = await machine.run(
      'stat -c "%a %n" /etc/edge-agent/agent.env /etc/edge-agent/updater.env /var/lib/edge-updater/token /var/lib/edge-agent',
    );

    const left =
      'What was installed stays: edge-agentctl and /var/log/edge or the journal say more. Run the line again to go on, or with --uninstall --purge to take it back.';
    t.deepEqual(said, [
      `install.sh: The agent ended: Enrolment was refused by ${url}: ENROLLMENT_KEY has no uses left: make a new key. ${left}`,
      `install.sh: The agent ended: Enrolment was refused by ${url}: ENROLLMENT_KEY has expired: make a new key. ${left}`,
    ]);
    t.regex(good.stdout, /healthy after/u, good.stderr);
    t.deepEqual([...seen], []);
    t.is(held.stdout, '/var/lib/edge-updater/token\n');
    t.is(
      modes.stdout,
      '600 /etc/edge-agent/agent.env\n600 /etc/edge-agent/updater.env\n600 /var/lib/edge-updater/token\n700 /var/lib/edge-agent\n',
    );
  },
);

test.serial(
  'the CA of --ca-file is copied for the updater, a newer one starts both services anew, and a purge removes it',
  async (t) => {
    t.timeout(hangAfter(120_000));
    const { line: lineOf, machine: machineOf } = installing();
    const machine = await machineOf(t);
    const authorities = await Promise.all([1, 2].map(async () => (await certificates(temporaryDirectory(t))).ca));
    const [first = '', second = ''] = authorities.map((file) => readFileSync(file, 'utf8'));
    const line = `cd /root && ${await lineOf(CLUSTER)} --ca-file ca.pem`;
    const pids = async () =>
      (await machine.run('cat /run/edge/agent.child /run/edge/updater.child')).stdout.split('\n');
    machine.write('/root/ca.pem', first, 0o600);

    const installed = await machine.run(`${line} && rm ca.pem`);
    const named = await machine.run('cd /etc/edge-agent && grep -h NODE_EXTRA_CA_CERTS agent.env updater.env');
    const mode = await machine.run('stat -c %a /etc/edge-agent/ca.pem');
    const copied = machine.read('/etc/edge-agent/ca.pem');
    const before = await pids();
    machine.write('/root/ca.pem', second);
    const renewed = await machine.run(line);
    const after = await pids();
    const copiedAgain = machine.read('/etc/edge-agent/ca.pem');
    const mounted = '/var/lib/edge-agent/keepers/mounted';
    machine.write('/opt/of-others', '');
    await machine.bind('/opt', mounted);
    const refused = await machine.run(`${UNINSTALL} --purge`);
    await machine.unbind(mounted);
    const left = await machine.run(`${UNINSTALL} --purge`);

    t.is(refused.status, 1);
    t.regex(refused.stderr, /keepers\/mounted is mounted in \/var\/lib\/edge-agent, and --purge removes all/u);
    t.is(machine.read('/opt/of-others'), '');
    t.regex(installed.stdout, /healthy after/u, installed.stderr);
    t.is(named.stdout, "NODE_EXTRA_CA_CERTS='/etc/edge-agent/ca.pem'\n".repeat(2));
    t.deepEqual([mode.stdout, copied], ['644\n', first]);
    t.regex(renewed.stdout, /healthy after/u, renewed.stderr);
    t.is(copiedAgain, second);
    t.deepEqual(
      after.filter((pid) => pid !== '' && before.includes(pid)),
      [],
    );
    t.is(left.status, 0, left.stderr);
    t.is((await machine.run('ls /etc/edge-agent 2>&1')).status, 2);
  },
);

test.serial('a user without root gets an agent below the home, and nothing else changes', async (t) => {
  t.timeout(hangAfter(120_000));
  const { fleet, line: lineOf, machine: machineOf } = installing();
  const machine = await machineOf(t);
  machine.write('/opt/ca.pem', readFileSync((await certificates(temporaryDirectory(t))).ca, 'utf8'));
  await machine.run(
    'echo ada:x:1000:1000::/home/ada:/bin/sh >> /etc/passwd && echo ada:x:1000: >> /etc/group && mkdir -p /home/ada/.config/edge-agent && cp /etc/edge-agent/agent.env /home/ada/.config/edge-agent/ && chown -R 1000:1000 /home/ada',
  );
  const ada = { uid: 1_000, env: { HOME: '/home/ada' } };
  const before = await machine.files();

  const installed = await machine.run(`${await lineOf(CLUSTER)} --user --ca-file /opt/ca.pem`, ada);
  t.regex(
    installed.stdout,
    /healthy after/u,
    installed.stderr + (await machine.run('cat ~/.local/state/edge/agent.log', ada)).stdout,
  );
  const [execution] = await fleet.settled(
    await fleet.run('id -u', { targeting: { type: 'nodes', node_ids: [nodeIn(installed.stdout)] } }),
  );
  const changed = difference(before, await machine.files()).filter((line) => !line.includes('/home/ada'));
  const named = await machine.run('grep -hs NODE_EXTRA_CA_CERTS ~/.config/edge-agent/*.env', ada);
  const left = await machine.run('sh ~/.local/lib/edge/install.sh --user --uninstall --purge', ada);

  t.like(execution, { output: '1000\n' });
  t.is(named.stdout, "NODE_EXTRA_CA_CERTS='/home/ada/.config/edge-agent/ca.pem'\n".repeat(2));
  t.deepEqual(changed, []);
  t.is(left.status, 0, left.stderr);
  t.is((await machine.run('find /home/ada -mindepth 1')).stdout, '');
});

test.serial(
  'an image holds the key and no identity, and each machine made of it enrols as a node of its own',
  async (t) => {
    t.timeout(hangAfter(120_000));
    const { fleet, machine: machineOf } = installing();
    const machines = [await machineOf(t), await machineOf(t)] as const;
    const { key } = await fleet.key({ uses_remaining: 2 });
    const bake = `curl -fsSL ${fleet.admin().url}/install.sh | EDGE_KEY=${key} sh -s -- --no-start --init systemd`;

    const baked = await machines[0].run(bake);
    for (const directory of IMAGE_DIRECTORIES)
      await run('cp', ['--archive', `${machines[0].root}/${directory}/.`, `${machines[1].root}/${directory}`]);
    const enabled = await machines[0].run(
      'ls /etc/systemd/system/multi-user.target.wants | grep edge; ls -A /var/lib/edge-agent; grep -c ENROLLMENT_KEY /etc/edge-agent/agent.env',
    );
    // what the units do at boot: no systemd runs here
    for (const machine of machines)
      await machine.run(
        '(set -a; . /etc/edge-agent/agent.env; exec setsid /usr/lib/edge/launch agent) >/dev/null 2>&1 </dev/null &',
      );
    const nodes = await Promise.all(
      machines.map((machine) =>
        until('an identity', () => {
          const { node_id: id, enrollment } = JSON.parse(machine.read('/var/lib/edge-agent/identity.json')) as {
            readonly node_id: string;
            readonly enrollment: object | null;
          };
          return enrollment !== null && id;
        }),
      ),
    );

    t.is(baked.stdout.split(':')[0], 'edge-agent is installed and not started', baked.stderr);
    t.is(enabled.stdout, 'edge-agent.service\nedge-updater.service\n1\n');
    t.is(new Set(nodes).size, 2);
  },
);

test.serial('edge node add refuses where no other machine would reach the admin', async (t) => {
  const { edge, fleet } = installing();

  const { status, stdout, stderr } = await edge('node', 'add', CLUSTER);

  t.deepEqual(
    { status, stdout, stderr },
    {
      status: 1,
      stdout: '',
      stderr: `edge: no other machine reaches this admin, whose URL is ${fleet.admin().url}: set ADMIN_URLS of edge-admin, or give --public-url URL\n`,
    },
  );
});
