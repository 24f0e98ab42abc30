/** What does not work at one admin, read at another one: its broker and its relay. */
import test from 'ava';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { certificates } from '../../support/net/certificates.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const scope = createScope();
/** It ends within two days. */
const { server, serverKey } = await certificates(temporaryDirectory(scope));
test.after.always('the certificates are removed', () => scope.end());

const fleet = sharedFleet(test, {
  admins: 2,
  env: {
    EVENT_BROKER_ENABLED: 'true',
    EVENT_BROKER_ADAPTER: 'nats',
    EVENT_BROKER_NATS_URLS: 'nats://broker.invalid:4222',
    EMBEDDED_RELAY: 'true',
    EMBEDDED_RELAY_HOST: '127.0.0.1',
    EMBEDDED_RELAY_PORT: '0',
    EMBEDDED_RELAY_TLS_CERT_FILE: server,
    EMBEDDED_RELAY_TLS_KEY_FILE: serverKey,
  },
});

const adminsAt = ({ url }: AdminProgram): Promise<readonly PeerAdminResource[]> =>
  restClient(() => url, FLEET_KEYS.MASTER_KEY).get<readonly PeerAdminResource[]>('/admins');

const problemAt = (admins: readonly PeerAdminResource[], name: string, check: string): string | undefined =>
  admins.find((admin) => admin.name === name)?.problems?.find((one) => one.check === check)?.problem;

test.serial('each admin tells which of them cannot publish, and whose relay has a certificate that ends', async (t) => {
  const [one, other] = [fleet().admin(0), fleet().admin(1)];
  const told = await until('the broker of one of them', async () => {
    const both = await Promise.all([adminsAt(one), adminsAt(other)]);
    const down = both.map((admins) =>
      [one, other].map(({ name }) => problemAt(admins, name, 'event_broker') !== undefined),
    );
    return JSON.stringify(down[0]) === JSON.stringify(down[1]) && down[0]?.includes(true) === true && both;
  });

  for (const admins of told) {
    const publishers = [one, other].filter(({ name }) => problemAt(admins, name, 'event_broker') !== undefined);
    t.is(publishers.length, 1);
    t.is(problemAt(admins, publishers[0]!.name, 'event_broker'), 'the broker cannot be reached or refuses');
    for (const { name } of [one, other])
      t.regex(problemAt(admins, name, 'relay') ?? '', /^the certificate of the relay expires in [01] days: /u);
  }
  const checks = (await (await fetch(`${one.url}/healthz`)).json()) as readonly { readonly name: string }[];
  t.like(
    checks.find(({ name }) => name === 'relay'),
    { healthy: true },
  );
});

test.serial('of an admin that is gone, and of one of a release that does not tell, nothing is told', async (t) => {
  const [one, other] = [fleet().admin(0), fleet().admin(1)];
  await other.kill();
  await until('it to be silent', async () => {
    const row = (await adminsAt(one)).find(({ name }) => name === other.name);
    return row?.status === 'silent' && row.problems === null;
  });

  // as an older one that took the name writes it: its process is another one, and the column stays
  await fleet().sql(
    `update admin set last_checked_in = clock_timestamp() + interval '1 hour', instance_id = gen_random_uuid() where name = $1`,
    [other.name],
  );
  const row = (await adminsAt(one)).find(({ name }) => name === other.name);

  t.deepEqual([row?.status, row?.problems], ['live', null]);
  const [stored] = await fleet().sql<{ problems: unknown }>('select problems from admin where name = $1', [other.name]);
  t.truthy(stored?.problems);
});
