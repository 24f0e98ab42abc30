/** Proxies without a password at an address that others reach: said at the start, and by the doctor. */
import test from 'ava';
import { openProxiesProblem } from '../../../../../agent/access/proxies/open-proxies.ts';

test('proxies that ask for no password are a problem only where other machines reach them', (t) => {
  const ask = (AGENT_PROXY_HOST: string[], AGENT_PROXY_AUTH_ENABLED = false, AGENT_PROXY_ENABLED = true) =>
    openProxiesProblem({ AGENT_PROXY_HOST, AGENT_PROXY_AUTH_ENABLED, AGENT_PROXY_ENABLED }) !== null;

  t.deepEqual(
    [ask(['0.0.0.0']), ask(['127.0.0.1', '192.168.1.7']), ask(['::']), ask(['::ffff:127.0.0.1'])],
    [true, true, true, true],
  );
  t.deepEqual(
    [ask(['127.0.0.1']), ask(['127.3.2.1', '::1']), ask(['0.0.0.0'], true), ask(['0.0.0.0'], false, false)],
    [false, false, false, false],
  );
});
