/** What the line writes into the settings of agent and updater, and what it takes out of them. */
import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startMachine } from '../../support/installing/machine.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/peer-test.ts';
import { KEY, WITH_KEY } from './refusal-cases.ts';

const test = await peerTest('root', 'debian-root');

/** A machine whose programs are there already, so that none is fetched, and the line on it, which starts nothing. */
async function machineWithPrograms(t: ExecutionContext) {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  machine.write('/var/lib/edge-updater/current/runtime/node', '#!/bin/sh\n', 0o755);
  machine.write('/var/lib/edge-updater/current/edge-agent.cjs', '');
  const install = async (words = '') => {
    const { status, stderr } = await machine.run(`sh -s -- ${WITH_KEY} --init none --no-start ${words}`, {
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

test('a node that has no session is given the key again, as its admins may not know it any more; one that has is left as it is', async (t) => {
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
