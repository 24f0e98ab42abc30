/** Tests that need programs which are not ours. Apart from peers.ts, which is not run by ava. */
import test, { type Implementation } from 'ava';
import { missingPeers } from './peers.ts';

/** What such a test file declares its tests and hooks with. */
export interface PeerTest {
  (title: string, implementation: Implementation<[]>): void;
  readonly serial: (title: string, implementation: Implementation<[]>) => void;
  readonly before: (implementation: Implementation<[]>) => void;
}

/**
 * Ava's test function for tests that need these peers: `const test = await peerTest('nats-server')`, before the first
 * test. Where one is missing each test is skipped and its line says why; in CI it fails instead. The names must be
 * literals, as `test/run.ts` reads them.
 */
export async function peerTest(...names: readonly string[]): Promise<PeerTest> {
  const missing = await missingPeers(names);
  if (missing.length === 0) return test;
  const reason = `needs ${missing.join(', ')}, not on this machine`;
  const declare = (title: string, implementation: Implementation<[]>): void => {
    if (process.env['CI']) test(title, (t) => t.fail(reason));
    else test.skip(`${title} (skipped: ${reason})`, implementation);
  };
  return Object.assign(declare, { serial: declare, before: () => {} });
}
