/** Sessions of OpenSSH on a machine behind an admin, recorded there, and read at the admin. */
import { once } from 'node:events';
import ava from 'ava';
import type { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import { readCast } from '../../../cli/recordings/cast.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import type { Scope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { allow, wordsTo } from '../../support/net/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { runClient, startClient } from '../../support/ssh/openssh.ts';

const test = await peerTest('ssh', 'ssh-keygen', 'ncat');
const fleet = sharedFleet(ava, { agents: 1, env: { SSH_RECORDING: 'pty' } });

/** A user of their own at the machine, and words of ssh up to the command. */
async function user(t: Scope, name: string) {
  const directory = temporaryDirectory(t);
  const node = await fleet().node();
  const login = await allow(fleet(), node.id, name, directory);
  return { node, id: login.resource.id, words: wordsTo(node, login, fleet().admin()) };
}

/** Recordings of a user, oldest first, when there are so many. */
async function recordingsOf(username: string, count: number): Promise<readonly SshRecordingResource[]> {
  const rows = await until(`${count} recordings of ${username}`, async () => {
    const found = await fleet().rest.get<readonly SshRecordingResource[]>(
      `/ssh_recordings?username=${username}&sort=started_at`,
    );
    return found.length === count ? found : null;
  });
  return Promise.all(rows.map(({ id }) => fleet().rest.get<SshRecordingResource>(`/ssh_recordings/${id}`)));
}

function shownBy({ cast }: SshRecordingResource): string {
  return [...readCast(cast ?? '').events()].map((event) => (event.type === 'output' ? event.text : '')).join('');
}

test.serial('what has a terminal is recorded, and what has none is not; it outlives its user', async (t) => {
  const { node, id, words } = await user(t, 'recorded');

  await runClient(t, 'ssh', ['-T', ...words, 'echo not this one']);
  const quiet = startClient(t, 'ssh', [
    '-tt',
    ...words,
    String.raw`stty -echo; printf 'gr\303\274\303\237e\n'; read secret; echo over`,
  ]);
  await once(quiet.stdout, 'data');
  quiet.stdin.write('hunter2\n'); // as a password is: nobody shows it
  await once(quiet, 'close');
  const shell = await runClient(t, 'ssh', ['-tt', ...words], 'echo in a $((1 + 1))nd one; exit\n');
  const [first, second, ...more] = await recordingsOf('recorded', 2);
  await fleet().rest.call('DELETE', `/ssh_usernames/${id}`);
  const kept = await recordingsOf('recorded', 2);

  t.like(first, { node_id: node.id, cluster_name: 'fleet', ssh_username_id: id, truncated: false });
  t.true(first?.command?.startsWith('stty'));
  t.is(first && shownBy(first), 'grüße\r\nover\r\n');
  t.is(second?.command, null);
  t.true(second !== undefined && shownBy(second).includes('in a 2nd one') && shell.stdout.includes('in a 2nd one'));
  t.deepEqual(more, []);
  t.is(kept.length, 2);
});

test.serial(
  'of an agent that is killed within a session, what was shown until shortly before is there after its next start',
  async (t) => {
    const { words } = await user(t, 'cut-off');
    const agent = fleet().agent();
    const client = startClient(t, 'ssh', [
      '-tt',
      ...words,
      'i=0; while :; do i=$((i + 1)); echo line $i; sleep 0.1; done',
    ]);
    let shown = '';
    client.stdout.on('data', (data: Buffer) => {
      shown += data.toString();
    });
    await until('the session to be older than the disk is behind', () => shown.includes('line 65\r\n'));

    await agent.kill();
    agent.start();
    const [recording] = await recordingsOf('cut-off', 1);

    t.true(recording?.truncated);
    t.true(
      recording !== undefined && shown.startsWith(shownBy(recording)) && shownBy(recording).includes('line 10\r\n'),
      recording?.cast?.slice(-200),
    );
    t.true(recording !== undefined && recording.duration_ms > 4_000);
  },
);
