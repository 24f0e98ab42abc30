import test from 'ava';
import { neededPeers, peerPath } from './peers.ts';

test('the tests of a part need only the peers that its files name', (t) => {
  t.deepEqual(neededPeers(['test/unit/settings/admin.test.ts', 'test/unit/transport/net/log.test.ts']), []);
  t.deepEqual(neededPeers(['--match', 'test/contract/**', 'test/unit/settings/admin.test.ts']), []);
});

test('a peer that the table does not know is a mistake in the test, not a missing program', async (t) => {
  await t.throwsAsync(peerPath('no-such-peer'), { message: /^There is no peer no-such-peer/u });
});
