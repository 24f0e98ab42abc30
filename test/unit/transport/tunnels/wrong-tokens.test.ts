import test from 'ava';
import { WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX } from '../../../../transport/tunnels/limits.ts';
import { countWrongTokens } from '../../../../transport/tunnels/wrong-tokens.ts';
import { recordingLog } from '../../../support/log.ts';

const MINUTE_MS = 60_000;

test('an address that keeps showing wrong tokens is named once a minute, and no other', (t) => {
  const log = recordingLog();
  let nowMs = 0;
  const wrong = countWrongTokens(() => nowMs, log);
  const from = (remoteAddress: string): void => wrong({ socket: { remoteAddress } });
  const named: unknown[][] = [];

  for (const times of [WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX, 1, 100]) {
    for (let count = 0; count < times; count += 1) from('::ffff:192.0.2.1');
    from('192.0.2.2');
    named.push(log.lines.map(({ fields }) => fields));
  }
  nowMs += MINUTE_MS;
  for (let count = 0; count <= WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX; count += 1) from('192.0.2.1');

  const line = { address: '192.0.2.1' };
  t.deepEqual(named, [[], [line], [line]]);
  t.deepEqual(
    log.lines.map(({ fields }) => fields),
    [line, line],
  );
});
