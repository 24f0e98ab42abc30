/** What the line writes into the settings of agent and updater, and what it takes out of them. */
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startMachine } from '../../support/installing/machine.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { KEY, WITH_KEY } from './refusal-cases.ts';

const UNINSTALL = 'sh /usr/lib/edge/install.sh --uninstall';

const test = await peerTest('root', 'debian-root');

/** A machine whose programs are there already, so that none is fetched, and the line on it, which starts nothing. */
async function machineWithPrograms(t: ExecutionContext) {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  machine.write('/var/lib/edge-updater/current/runtime/node', '#!/bin/sh\n', 0o755);
  machine.write('/var/lib/edge-updater/current/edge-agent.cjs', '');
  const install = async (words = '', init = 'none') => {
    const { status, stderr } = await machine.run(`sh -s -- ${WITH_KEY} --init ${init} --no-start ${words}`, {
      stdin: script,
    });
    t.is(status, 0, stderr);
  };
  return { machine, install };
}

test('the updater is given admins of its own by --admin alone, and a line without it takes them back', async (t) => {
  const { machine, install } = await machineWithPrograms(t);
  const admins = async (words?: string) => {
    await install(words);
    return /^UPDATER_ADMIN_URLS=.*$/mu.exec(machine.read('/etc/edge-agent/updater.env'))?.[0];
  };

  const written = [await admins(), await admins('--admin http://127.0.0.1:9/,http://127.0.0.1:8'), await admins()];

  t.deepEqual(written, [undefined, "UPDATER_ADMIN_URLS='http://127.0.0.1:9,http://127.0.0.1:8'", undefined]);
});

test('the installer gives a node without a session the key again, and leaves a node with a session as it is', async (t) => {
  const { machine, install } = await machineWithPrograms(t);
  cpSync(process.execPath, join(machine.root, 'var/lib/edge-updater/current/runtime/node'));
  const identity = { node_id: randomUUID(), enrollment: { api_token: 'a-token', cluster_name: 'prod' } };
  machine.write('/var/lib/edge-agent/identity.json', JSON.stringify(identity));
  const health = { pid: 1, connected_since: 1, services_ok: true, problems: [], last_answer_at: 1, version: '0.2.0' };
  const keyOf = async (changes: object | null) => {
    if (changes !== null) machine.write('/var/lib/edge-agent/health.json', JSON.stringify({ ...health, ...changes }));
    await install();
    const settings = machine.read('/etc/edge-agent/agent.env');
    machine.write('/etc/edge-agent/agent.env', '');
    return /^ENROLLMENT_KEY='(?<key>.*)'$/mu.exec(settings)?.groups?.['key'];
  };

  const given = {
    stopped: await keyOf(null),
    alone: await keyOf({ connected_since: null }),
    ill: await keyOf({ services_ok: false, problems: ['vpn: no device'] }),
    healthy: await keyOf({}),
  };

  t.deepEqual(given, { stopped: KEY, alone: KEY, ill: undefined, healthy: undefined });
});

test('systemd lets the updater into a data directory of its own place, and no more into one that was given up', async (t) => {
  const { machine, install } = await machineWithPrograms(t);
  const dropIn = 'etc/systemd/system/edge-updater.service.d/data.conf';
  const letIn = async (settings: string) => {
    machine.write('/etc/edge-agent/agent.env', settings);
    await install('', 'systemd');
    const told = /^UPDATER_AGENT_DATA_DIR='(?<path>.*)'$/mu.exec(machine.read('/etc/edge-agent/updater.env'));
    const path = join(machine.root, dropIn);
    return { told: told?.groups?.['path'], dropIn: existsSync(path) && directives(readFileSync(path, 'utf8')) };
  };

  const usual = await letIn('');
  const own = await letIn("AGENT_DATA_DIR='/home/ada/edge'\n");
  const givenUp = await letIn('');
  await letIn("AGENT_DATA_DIR='/srv/edge'\n");
  const uninstalled = await machine.run(UNINSTALL);
  const isLeft = existsSync(dirname(join(machine.root, dropIn)));

  t.deepEqual(usual, { told: '/var/lib/edge-agent', dropIn: false });
  t.deepEqual(own, {
    told: '/home/ada/edge',
    dropIn: ['ProtectHome=tmpfs', 'BindPaths=/home/ada/edge'],
  });
  t.deepEqual(givenUp, usual);
  t.is(uninstalled.status, 0, uninstalled.stderr);
  t.false(isLeft);
});

/** Lines of a unit that do something, but for the names of sections. */
function directives(unit: string): readonly string[] {
  return unit.split('\n').filter((line) => /^[A-Z]\w*=/u.test(line));
}
