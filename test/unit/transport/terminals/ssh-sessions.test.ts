/**
 * A node may answer with anything when it is asked who is logged in: that is a list within bounds, or refused.
 *
 * Promises: R3.
 */
import type { Socket } from 'node:net';
import test from 'ava';
import {
  SSH_SESSION_AGE_MS_MAX,
  SSH_SESSIONS_BYTES_MAX,
  type SshSession,
} from '../../../../transport/protocol/ssh-sessions.ts';
import { createSshSessions, readSshSessions } from '../../../../transport/terminals/ssh-sessions.ts';
import { NODE } from '../../../support/net/tunnels-fixture.ts';
import { answer, scrapeFixture } from '../metrics/fixture.ts';

const ADA: SshSession = {
  username: 'ada',
  account: 'ada',
  age_ms: 1_000,
  client_address: '192.0.2.7',
  shells: 1,
  commands: 0,
  file_transfers: 0,
  forwarded_connections: 2,
  forwarded_ports: 0,
  is_recorded: true,
};

const VPN = ['100.64.0.0/16', 'fd00:1::/64'];

const read = (...sessions: readonly object[]) =>
  readSshSessions(Buffer.from(JSON.stringify({ session_count: sessions.length, sessions })), VPN);

test('who is logged in is taken as it is, without what nobody asked for', (t) => {
  t.deepEqual(read({ ...ADA, command: 'mysql -psecret' }), { ok: true, value: { session_count: 1, sessions: [ADA] } });
  t.deepEqual(read(), { ok: true, value: { session_count: 0, sessions: [] } });
});

test('names lose what a terminal would obey', (t) => {
  t.like(read({ ...ADA, username: 'a\u001b[2Jb', account: '\u202eada' }), {
    value: { sessions: [{ username: 'a [2Jb', account: 'ada' }] },
  });
});

for (const [what, address] of [
  ['IPv4', '100.64.3.4'],
  ['IPv6', 'fd00:1::5'],
  ['IPv4 in IPv6', '::ffff:100.64.3.4'],
  ['IPv4 in IPv6, in hexadecimal', '::ffff:6440:304'],
  ['IPv4 in IPv6, compatible', '::100.64.3.4'],
  ['IPv4 behind NAT64', '64:ff9b::6440:304'],
] as const) {
  test(`an address of the VPN is not told: ${what}`, (t) => {
    t.like(read({ ...ADA, client_address: address }), { value: { sessions: [{ client_address: null }] } });
  });
}

test('an address that carries one of no VPN is told', (t) => {
  const sessions = ['::1', '64:ff9b::c000:207'].map((address) => ({ ...ADA, client_address: address }));

  t.deepEqual(read(...sessions), { ok: true, value: { session_count: 2, sessions } });
});

/** What is wrong with it, and the one that is told. */
const LIES: readonly (readonly [string, object])[] = [
  ['no name', { ...ADA, username: '' }],
  ['a name that is too long', { ...ADA, username: 'a'.repeat(65) }],
  ['an address that is none', { ...ADA, client_address: 'of 100.64.3.4' }],
  ['an address with a zone', { ...ADA, client_address: 'fe80::1%eth0' }],
  ['less than nothing', { ...ADA, shells: -1 }],
  ['half a shell', { ...ADA, shells: 0.5 }],
  ['what is still to come', { ...ADA, age_ms: -1 }],
  ['what began before there were machines', { ...ADA, age_ms: SSH_SESSION_AGE_MS_MAX + 1 }],
];

for (const [what, session] of LIES) {
  test(`${what} is nobody who is logged in`, (t) => {
    t.deepEqual(read(session), {
      ok: false,
      refusal: {
        code: 'service_unavailable',
        message: 'The node answered with something that does not say who is logged in.',
      },
    });
  });
}

/** What a node says to whoever asks for it, and what becomes of that. */
const SERVED: readonly (readonly [string, Buffer, object])[] = [
  [
    'answers',
    answer(JSON.stringify({ session_count: 3, sessions: [ADA] }), { 'Content-Type': 'application/json' }),
    { ok: true, value: { session_count: 3, sessions: [ADA] } },
  ],
  [
    'is of a release before',
    answer('There is nothing here.', {}, '404 Not Found'),
    {
      refusal: { code: 'conflict', message: 'The agent of this node is too old to tell who is logged in: update it.' },
    },
  ],
  [
    'answers with too much',
    answer(' '.repeat(SSH_SESSIONS_BYTES_MAX + 1)),
    {
      refusal: {
        code: 'service_unavailable',
        message: `The node answered with more than ${SSH_SESSIONS_BYTES_MAX} bytes.`,
      },
    },
  ],
];

for (const [what, said, becomes] of SERVED) {
  test(`a node that ${what} is told of as that`, async (t) => {
    const serve = (socket: Socket): void => void socket.once('data', () => socket.end(said));
    const { requests } = await scrapeFixture(t, serve);

    t.like(await createSshSessions({ requests, ranges: async () => VPN, msMax: 60_000 }).get(NODE), becomes);
  });
}

test('a node that there is not is not asked', async (t) => {
  const { requests } = await scrapeFixture(t, () => t.fail('it was asked'));

  t.like(await createSshSessions({ requests, ranges: async () => null, msMax: 60_000 }).get(NODE), {
    refusal: { code: 'not_found' },
  });
});
