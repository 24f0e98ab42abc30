/** The clock on the wall of a member is set by hours, and its VPN does not notice. */
import { join } from 'node:path';
import ava from 'ava';
import { openClock } from '../../support/wall-clock.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { nodeName, reaches, startFixture, type Member } from '../../support/vpn/fixture.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'conntrack', 'ping', 'wg', 'wireguard-go', 'faketime');

const TEST_MS_MAX = 240_000;

/** Sent each 200 ms: 12 s. */
const PACKETS = 60;

const scope = createScope();
ava.after.always(() => scope.end());

test('a member whose clock is set by hours, there and back, is still reached, and reaches others', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const fixture = await startFixture(scope, () => ({ ADMIN_GATEWAY_ENABLED: 'false' }));
  await fixture.rest.post('/clusters', { name: 'red' });
  const [one, other] = await Promise.all([fixture.internet.host('one'), fixture.internet.host('other')]);
  const clock = await openClock(join(one.directory, 'clock'));
  const set = await fixture.member(one, 'red', clock.env);
  const peer = await fixture.member(other, 'red');
  await reaches(peer, await until('its name', () => (set.node === '' ? null : nodeName(set, 'red'))));
  await reaches(set, nodeName(peer, 'red'));

  for (const offset of ['+5h', '-7h', '+0']) {
    await clock.set(offset);
    // Longer than the member takes to read its interface, and than it waits with a path that it takes for dead.
    t.deepEqual(
      await Promise.all([answerTo(peer, nodeName(set, 'red')), answerTo(set, nodeName(peer, 'red'))]),
      ['answered', 'answered'],
      offset,
    );
    await reaches(peer, nodeName(set, 'red'));
    t.not((await fixture.pathTo(set, peer))?.path, 'none', offset);
  }
  t.is(set.program.exit, null);
});

/** Whether any of many echoes came back: what `ping` says where none did. */
function answerTo({ machine }: Member, name: string): Promise<string> {
  return machine.run('ping', ['-c', `${PACKETS}`, '-i', '0.2', '-W', '1', name]).then(() => 'answered', String);
}
