/** Programs without a terminal: their pipes are files of this process. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { peerTest } from '../../../support/run/peer-test.ts';
import { execRaw, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('ssh-keygen'); // one after the other: one counts the open files of its process

test.serial('a program that the system does not start leaves no files open', async (t) => {
  const { client } = await withRawAlice(t, {
    accounts: async () => ({ name: 'x', uid: 0, gid: 0, home: '/', shell: '/etc/passwd/sh', isOther: false }),
  });
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

test.serial(
  'programs that begin in the same moment have pipes, which they may open by their names, however many they are',
  async (t) => {
    const { client } = await withRawAlice(t);
    const trouble = async (): Promise<string> => {
      const channel = await execRaw(client, 'echo trouble > /dev/stderr');
      const [said] = await Promise.all([text(channel.stderr), once(channel.resume(), 'close')]);
      return said;
    };

    const said = await Promise.all(Array.from({ length: 12 }, trouble));

    t.deepEqual(said, Array(12).fill('trouble\n'));
  },
);
