import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { peerTest } from '../../../support/peer-test.ts';
import { until } from '../../../support/until.ts';
import { connectRaw, execRaw } from './raw-client.ts';
import { withAlice } from '../../../support/agent/ssh-fixture.ts';

const test = await peerTest('ssh-keygen'); // alone in its file: it counts the open files of its process

test('a program that the system does not start leaves no files open', async (t) => {
  const { fixture, key } = await withAlice(t, {
    accounts: async () => ({ name: 'x', uid: 0, gid: 0, home: '/', shell: '/etc/passwd/sh', isOther: false }),
  });
  const client = await connectRaw(t, fixture.port, { username: 'alice', privateKey: readFileSync(key) });
  const attempt = async () => {
    const channel = await execRaw(client, 'true');
    channel.stderr.resume();
    await once(channel.resume(), 'close');
  };
  await attempt();
  const before = readdirSync('/proc/self/fd').length;

  for (let more = 0; more < 4; more += 1) await attempt();

  await t.notThrowsAsync(until('all are closed', () => readdirSync('/proc/self/fd').length <= before));
});
