/** Where an admin is reached, before and after it listens. */
import test from 'ava';
import { createAdminUrls } from '../../../settings/admin-urls.ts';

const LISTENS_AT = 'http://0.0.0.0:44000';

for (const [what, settings, before, after] of [
  [
    'without settings the URLs are where the admin listens',
    { ADMIN_URLS: [] },
    { all: [], own: '' },
    { all: ['http://127.0.0.1:44000'], own: 'http://127.0.0.1:44000' },
  ],
  [
    'URLs of the settings stay what they are, and the first is its own',
    { ADMIN_URLS: ['https://a.test', 'https://b.test'] },
    { all: ['https://a.test', 'https://b.test'], own: 'https://a.test' },
    { all: ['https://a.test', 'https://b.test'], own: 'https://a.test' },
  ],
  [
    'an admin that shares its URLs with others has one of its own',
    { ADMIN_URLS: ['https://all.test'], ADMIN_OWN_URL: 'https://b.test' },
    { all: ['https://all.test'], own: 'https://b.test' },
    { all: ['https://all.test'], own: 'https://b.test' },
  ],
] as const) {
  test(what, (t) => {
    const urls = createAdminUrls(settings);
    const seen = { all: urls.all(), own: urls.own() };

    const reached = urls.listensAt(LISTENS_AT);

    t.is(reached, 'http://127.0.0.1:44000');
    t.deepEqual([seen, { all: urls.all(), own: urls.own() }], [before, after]);
  });
}

test('other admins are told where an admin is once it listens: by a setting for them, else by its own URL', (t) => {
  const settings = { ADMIN_URLS: ['https://all.test'] };
  const peers = [
    settings,
    { ...settings, ADMIN_OWN_URL: 'https://b.test' },
    { ...settings, ADMIN_OWN_URL: 'https://b.test', ADMIN_PEER_URL: 'http://10.0.0.2:44000' },
    { ADMIN_URLS: [] },
  ].map((one) => createAdminUrls(one));
  const before = peers.map((urls) => urls.peer());

  for (const urls of peers) urls.listensAt(LISTENS_AT);

  t.deepEqual(before, ['', '', '', '']);
  t.deepEqual(
    peers.map((urls) => urls.peer()),
    ['https://all.test', 'https://b.test', 'http://10.0.0.2:44000', 'http://127.0.0.1:44000'],
  );
});

test('what no other admin may have is its own URL and that for other admins, each with its setting', (t) => {
  const mine = [
    { ADMIN_URLS: ['https://all.test'] },
    { ADMIN_URLS: ['https://all.test'], ADMIN_OWN_URL: 'https://b.test', ADMIN_PEER_URL: 'http://10.0.0.2:44000' },
    { ADMIN_URLS: [] },
  ].map((settings) => createAdminUrls(settings).mine());

  t.deepEqual(mine, [
    [{ url: 'https://all.test', setting: 'ADMIN_URLS' }],
    [
      { url: 'https://b.test', setting: 'ADMIN_OWN_URL' },
      { url: 'http://10.0.0.2:44000', setting: 'ADMIN_PEER_URL' },
    ],
    [],
  ]);
});

test('any address of IPv6 is reached by a loopback one too, and another address as it is', (t) => {
  t.is(createAdminUrls({ ADMIN_URLS: [] }).listensAt('http://[::]:1'), 'http://127.0.0.1:1');
  t.is(createAdminUrls({ ADMIN_URLS: [] }).listensAt('http://192.0.2.1:1'), 'http://192.0.2.1:1');
});
