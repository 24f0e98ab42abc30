/**
 * Who gets in where, at a real admin: every operation, on every surface, with a missing, a wrong, an out-of-scope and a
 * right key. One after the other: 1,700 requests at once are more than an admin on a busy machine answers without 503.
 */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { catalogue } from '../../../api/catalogue.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient, settledAnswer } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';

const fleet = sharedFleet(test, {
  env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000', PUBLIC_ENROLLMENT_KEY_ENABLED: 'true', DEFAULT_CLUSTER_NAME: CLUSTER },
});
const operations: readonly AnyOperation[] = Object.values(catalogue);
const ID = randomUUID();

/** What a credential is, and its text. */
type Credential = keyof typeof FLEET_KEYS | 'missing' | 'wrong' | 'empty' | 'of an agent';

/** Keys that reach an operation. Source: docs/api.md, Authentication. */
const RIGHT: Readonly<Record<AnyOperation['scope'], readonly Credential[]>> = {
  public: ['missing', 'wrong', 'empty', 'of an agent', 'MASTER_KEY', 'API_KEY', 'METRICS_KEY', 'MCP_KEY', 'PROXY_KEY'],
  api: ['MASTER_KEY', 'API_KEY'],
  metrics: ['MASTER_KEY', 'METRICS_KEY'],
};

let agentToken = '';
test.before('an agent has a token', async (t) => {
  agentToken = (await enrollRaw(createScope(), fleet())).api_token;
  t.not(agentToken, '');
});

const credentials = (): Readonly<Record<Credential, string | null>> => ({
  missing: null,
  wrong: 'wrong-key-of-nobody-1234567',
  empty: '',
  'of an agent': agentToken,
  ...FLEET_KEYS,
});

/** What the gate says: whose key it is nobody knows, it reaches elsewhere, or the operation itself answers. */
function verdictOf(operation: AnyOperation, credential: Credential): 401 | 403 | 'in' {
  if (RIGHT[operation.scope].includes(credential)) return 'in';
  return credential in FLEET_KEYS ? 403 : 401;
}

for (const operation of operations) {
  const { rest, name, kind } = operation;

  if (rest !== null) {
    test.serial(`${name} answers by REST whoever may ask, and refuses everybody else`, async (t) => {
      const path = rest.path.replaceAll(/:\w+/gu, ID);
      for (const [credential, key] of Object.entries(credentials()) as [Credential, string | null][]) {
        const admin = restClient(() => fleet().admins[0]?.url ?? '', key);
        const sent = rest.method === 'GET' || rest.method === 'DELETE' ? {} : { body: { nope: true } };
        const answer = await settledAnswer(() => admin.call(rest.method, path, sent));
        const got =
          answer.status === 401 ||
          (answer.status === 403 && answer.error?.code === 'forbidden' && verdictOf(operation, credential) !== 'in')
            ? answer.status
            : 'in';
        t.is(got, verdictOf(operation, credential), `${credential}: ${answer.status} ${answer.text.slice(0, 100)}`);
        if (answer.status === 401) t.is(answer.headers.get('www-authenticate'), 'Bearer');
        t.true(answer.status < 500);
      }
    });
  }

  test.serial(`${name} answers by tRPC whoever may ask, and refuses everybody else`, async (t) => {
    for (const [credential, key] of Object.entries(credentials()) as [Credential, string | null][]) {
      const url = `${fleet().admins[0]?.url ?? ''}/api/trpc/${name}`;
      const headers = { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) };
      const answer =
        kind === 'query'
          ? await fetch(`${url}?input=${encodeURIComponent('{"nope":true}')}`, { headers })
          : await fetch(url, { method: 'POST', headers, body: '{"nope":true}' });
      const verdict = verdictOf(operation, credential);
      t.is(
        answer.status === 401 || (answer.status === 403 && verdict !== 'in') ? answer.status : 'in',
        verdict,
        `${credential}: ${answer.status} ${(await answer.text()).slice(0, 100)}`,
      );
      t.true(answer.status < 500);
    }
  });
}

test('MCP shows a stranger the public tools only, and runs no other for anyone but the keys of MCP and the master', async (t) => {
  const url = fleet().admins[0]?.url ?? '';
  const isPublic = operations.filter(({ scope }) => scope === 'public').map(({ name }) => name);

  for (const key of [null, FLEET_KEYS.MCP_KEY, FLEET_KEYS.MASTER_KEY]) {
    const client = await currentClient(t, url, key);
    const tools = (await client.tools()).map(({ name }) => name);
    t.deepEqual(tools.toSorted(), (key === null ? isPublic : operations.map(({ name }) => name)).toSorted());
    if (key !== null) continue;
    for (const { name } of operations) {
      if (isPublic.includes(name)) continue;
      const outcome = await client.call(name, { nope: true }).then(
        ({ isError, structuredContent }) => (isError === true ? 'refused' : JSON.stringify(structuredContent)),
        () => 'refused',
      );
      t.is(outcome, 'refused', name);
    }
  }
  for (const key of [
    FLEET_KEYS.API_KEY,
    FLEET_KEYS.METRICS_KEY,
    FLEET_KEYS.PROXY_KEY,
    agentToken,
    'wrong-key-of-nobody-1234567',
  ]) {
    const listed = await currentClient(t, url, key).then(
      (client) => client.tools(),
      () => [],
    );
    t.deepEqual(
      listed.map(({ name }) => name).filter((name) => !isPublic.includes(name)),
      [],
    );
  }
});

test("no key of an operator opens an agent's session, and the token of an agent opens nothing else", async (t) => {
  const url = fleet().admins[0]?.url ?? '';
  for (const key of Object.values(FLEET_KEYS)) {
    const answer = await fetch(`${url}/api/v1/agents/session`, { headers: { authorization: `Bearer ${key}` } });
    t.true(answer.status >= 400 && answer.status < 500, String(answer.status));
  }
  t.is((await restClient(() => url, agentToken).call('GET', '/nodes')).status, 401);
});
