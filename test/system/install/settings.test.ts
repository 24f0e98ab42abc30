/** What the line writes into the settings of the updater, and what it takes out of them. */
import { startMachine } from '../../support/installing/machine.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/peer-test.ts';
import { WITH_KEY } from './refusal-cases.ts';

const test = await peerTest('root', 'debian-root');

test('the updater is given admins of its own by --admin alone, and a line without it takes them back', async (t) => {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  // programs that are there already, so that none is fetched
  machine.write('/var/lib/edge-updater/current/runtime/node', '#!/bin/sh\n', 0o755);
  machine.write('/var/lib/edge-updater/current/edge-agent.cjs', '');
  const admins = async (words: string) => {
    const { status, stderr } = await machine.run(`sh -s -- ${WITH_KEY} --init none --no-start ${words}`, {
      stdin: script,
    });
    t.is(status, 0, stderr);
    return /^UPDATER_ADMIN_URLS=.*$/mu.exec(machine.read('/etc/edge-agent/updater.env'))?.[0];
  };

  const written = [await admins(''), await admins('--admin http://127.0.0.1:9/,http://127.0.0.1:8'), await admins('')];

  t.deepEqual(written, [undefined, "UPDATER_ADMIN_URLS='http://127.0.0.1:9,http://127.0.0.1:8'", undefined]);
});
