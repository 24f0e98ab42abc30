/** Tunnels that are asked for: what an agent is told, and told again. */
import test from 'ava';
import { NODE, tunnelsFixture } from '../../../support/net/tunnels-fixture.ts';

test('an agent that has a new session is asked again by the same token, unless it has come by it', async (t) => {
  const { reach, tunnels, tokens } = await tunnelsFixture(t, { opens: false });
  const abort = new AbortController();

  tunnels.welcomed(NODE);
  const reached = reach(1, abort.signal);
  tunnels.welcomed(NODE);
  const [token = ''] = tokens;
  tunnels.redeem(token);
  tunnels.welcomed(NODE);
  abort.abort();

  t.false((await reached).ok);
  t.deepEqual(tokens, [token, token]);
});
