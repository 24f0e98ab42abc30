/** What a relay sees of two machines that talk through it. */
import { peerTest } from '../../../support/run/peer-test.ts';
import { mapOfRelays, startVpn, untilPath, type TestRelay } from '../../../support/vpn/members.ts';
import { lostEchoes, strayLostMax } from '../../../support/networks/echoes.ts';
import { startInternet } from '../../../support/networks/internet.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('root', 'ip', 'nft', 'conntrack', 'wireguard-go', 'wg', 'ping');

/** Of the 16 bytes that `ping -p` repeats. */
const MARKER = '706c61696e746578742d6d61726b6572';

/**
 * Two that talk, and what they may lose of it while a direct path is tried (docs/decisions/vpn-paths.md): that is none
 * of this test's.
 */
const ECHOES = 20;
const PROBES_LOST_MAX = 4;

test('a relay sees what two machines say only as ciphertext', async (t) => {
  const internet = await startInternet(t);
  const hub = await internet.host('hub');
  const program = hub.spawn(process.execPath, [
    new URL('../../../support/vpn/relay-spy-program.ts', import.meta.url).pathname,
    hub.address,
    '443',
    '900',
    MARKER,
  ]);
  const { derpMap } = (await program.logged('relaying')) as { readonly derpMap: TestRelay['derpMap'] };
  const vpn = startVpn(t, () => mapOfRelays([{ program, regionId: 900, derpMap }]));
  const [left, right] = await Promise.all([internet.nat('hard'), internet.nat('hard')]);
  const [one, other] = [await vpn.join(await left.machine('one')), await vpn.join(await right.machine('other'))];
  await untilPath(one, other, 'relayed');

  const lost = await lostEchoes(one.machine, other.ipv4, ECHOES, { words: ['-s', '1000', '-p', MARKER] });
  await until('what the relay saw', () =>
    program.lines().some(({ msg, bytes }) => msg === 'seen' && Number(bytes) > 40_000),
  ); // there and back

  t.true(lost <= PROBES_LOST_MAX + strayLostMax(), `${lost} lost`);
  t.deepEqual(
    [
      ...new Set(
        program
          .lines()
          .filter(({ msg }) => msg === 'seen')
          .map(({ markers }) => markers),
      ),
    ],
    [0],
  );
});
