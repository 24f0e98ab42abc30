/** Addresses of webhooks as clients may write them, through a whole admin that may not reach private ones. */
import test from 'ava';
import { startFleet } from './fleet.ts';

/** The machine itself, in all the forms that a URL parser takes for it. */
const LOOPBACK = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '127.000.000.001',
  '127.255.255.254',
  '0',
  '0.0.0.0',
  '0x0',
  '00000000000',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'a.localhost',
  'localhost.localdomain',
  'ip6-localhost',
  '%6c%6f%63alhost',
  '127%2e0%2e0%2e1',
  '１２７.０.０.１',
  '①②⑦.0.0.1',
  'ⓛocalhost',
  '127。0。0。1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[::ffff:0:127.0.0.1]',
];

/** Networks that only this machine or its neighbours reach. */
const INSIDE = [
  '10.0.0.1',
  '10.1',
  '172.16.0.1',
  '192.168.1.1',
  '0xc0a80101',
  '100.64.0.1',
  '169.254.169.254',
  '169.254.1.1',
  '0xa9fea9fe',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '224.0.0.1',
  '255.255.255.255',
  'metadata.google.internal',
  'printer.local',
  'db.internal',
];

/** Public as URL parsers read them, and 127.0.0.1 or another address as others do. */
const AMBIGUOUS = [
  '0127.0.0.1',
  '0127.1',
  '010.8.8.8',
  '0x57.0.0.1',
  '1476395009',
  '0x57000001',
  '87.1',
  '87.0.1',
  '87.0.0.1.',
  '087.0.0.1',
  '87.0.0.01',
  '８７.0.0.1',
  '87。0。0。1',
];

test('no form of the machine itself or of a private network is taken as the address of a webhook', async (t) => {
  const { request } = await startFleet(t, { WEBHOOK_ALLOW_PRIVATE_IPS: 'false' });
  const taken: unknown[] = [];

  for (const host of [...LOOPBACK, ...INSIDE, ...AMBIGUOUS])
    for (const url of [`http://${host}/`, `https://${host}/hook`, `http://${host}:8080/`]) {
      const { status, error } = await request('POST', '/webhooks', {
        url,
        secret: 'a secret of the tests, 32 characters',
        subscribed_events: ['edge.core.test'],
      });
      if (status !== 422 || error?.code !== 'validation_failed' || !Object.keys(error.details ?? {}).includes('url'))
        taken.push([url, status, error]);
    }

  t.deepEqual(taken, []);
  t.deepEqual((await request('GET', '/webhooks')).rows, []);
});
