/** SSH usernames and keys as operators make, list and delete them, through a whole admin. */
import test from 'ava';
import { SSH_PUBLIC_KEYS_MAX, SSH_USERNAMES_MAX } from '../../../persistence/committer/ssh-rows.ts';
import { shared } from './fleet.ts';
import { keyOf, newKey } from '../../support/ssh/ssh-keys.ts';
import { startSshAdmin } from './ssh-fixture.ts';

const admin = shared(test, startSshAdmin);

const PASSWORD = 'correct horse battery';
const NOBODY = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';

test.serial(
  'a username is made with a password and keys, read with them, listed without them, and deleted with them',
  async (t) => {
    const { id: node } = await admin().node();
    const [key, other] = [newKey('ada@one'), newKey('')];

    const made = await admin().request('POST', `/nodes/${node}/ssh_usernames`, {
      username: 'ada',
      password: PASSWORD,
      public_keys: [
        { key_name: 'laptop', public_key: `  ${key.line}\n` },
        { key_name: 'phone', public_key: other.line.trim() },
      ],
    });

    const { id, inserted_at: at } = made.data as { id: string; inserted_at: string };
    const keys = made.data['public_keys'] as { id: string }[];
    t.deepEqual([made.status, made.error], [201, undefined]);
    t.deepEqual(made.data, {
      id,
      username: 'ada',
      has_password: true,
      node_id: node,
      inserted_at: at,
      updated_at: at,
      public_keys: [
        {
          id: keys[0]?.id,
          public_key: key.line,
          fingerprint: key.fingerprint,
          key_name: 'laptop',
          ssh_username_id: id,
          inserted_at: at,
          updated_at: at,
        },
        {
          id: keys[1]?.id,
          public_key: other.line.trim(),
          fingerprint: other.fingerprint,
          key_name: 'phone',
          ssh_username_id: id,
          inserted_at: at,
          updated_at: at,
        },
      ],
    });
    t.deepEqual((await admin().request('GET', `/ssh_usernames/${id}`)).data, made.data);
    t.deepEqual((await admin().request('GET', `/ssh_usernames?node_id__in=${node}`)).rows, [
      { ...made.data, public_keys: null },
    ]);
    t.deepEqual(
      (await admin().request('GET', `/ssh_public_keys/${keys[0]?.id ?? ''}`)).data,
      (made.data['public_keys'] as object[])[0],
    );
    t.deepEqual(
      (await admin().request('GET', `/ssh_public_keys?ssh_username_id__in=${id}&sort=key_name`)).rows,
      made.data['public_keys'],
    );

    t.is((await admin().request('DELETE', `/ssh_usernames/${id}`)).status, 204);
    for (const path of [`/ssh_usernames/${id}`, `/ssh_public_keys/${keys[0]?.id ?? ''}`])
      for (const method of ['GET', 'DELETE'])
        t.is((await admin().request(method, path)).status, 404, `${method} ${path}`);
    t.is(
      (await admin().request('POST', `/ssh_usernames/${id}/ssh_public_keys`, { key_name: 'k', public_key: key.line }))
        .status,
      404,
    );
  },
);

test.serial('keys are added to a username and deleted alone', async (t) => {
  const { id: node } = await admin().node();
  const ada = await admin().username(node, 'ada');
  const key = newKey();

  const added = await admin().request('POST', `/ssh_usernames/${ada.id}/ssh_public_keys`, {
    key_name: 'laptop',
    public_key: key.line,
  });
  const twice = await admin().request('POST', `/ssh_usernames/${ada.id}/ssh_public_keys`, {
    key_name: 'again',
    public_key: `${key.line} with another comment`,
  });

  t.deepEqual([added.status, added.data['fingerprint'], added.data['ssh_username_id']], [201, key.fingerprint, ada.id]);
  t.deepEqual(
    [twice.status, twice.error?.code, twice.error?.message],
    [409, 'conflict', 'The SSH username has this key already.'],
  );
  t.is((await admin().request('DELETE', `/ssh_public_keys/${String(added.data['id'])}`)).status, 204);
  t.deepEqual((await admin().request('GET', `/ssh_usernames/${ada.id}`)).data['public_keys'], []);
  t.is(
    (
      await admin().request('POST', `/ssh_usernames/${ada.id}/ssh_public_keys`, {
        key_name: 'again',
        public_key: key.line,
      })
    ).status,
    201,
  );
});

test.serial('a name is taken once a node, and not on another one', async (t) => {
  const [one, two] = [await admin().node(), await admin().node()];
  await admin().username(one.id, 'ada');

  const again = await admin().request('POST', `/nodes/${one.id}/ssh_usernames`, {
    username: 'ada',
    password: PASSWORD,
  });
  await admin().username(two.id, 'ada');

  t.deepEqual(
    [again.status, again.error?.code, again.error?.message],
    [409, 'conflict', 'The node has an SSH username of this name already.'],
  );
});

test.serial('what is wrong is named by its field', async (t) => {
  const { id: node } = await admin().node();
  const key = newKey();
  const details = async (body: object) => {
    const { status, error } = await admin().request('POST', `/nodes/${node}/ssh_usernames`, {
      username: 'ada',
      ...body,
    });
    return [status, error?.details];
  };
  const publicKey = (text: string) => ({
    public_keys: [
      { key_name: 'good', public_key: newKey().line },
      { key_name: 'bad', public_key: text },
    ],
  });

  for (const username of ['ad', 'a'.repeat(33), '1ada', '-ada', 'Ada', 'ada lovelace', 'ada.l', 'ädä', '', 'ada\n'])
    t.deepEqual(Object.keys((await details({ username }))[1] ?? {}), ['username'], JSON.stringify(username));
  for (const username of ['ada', '_svc', 'a-1_x', 'a'.repeat(32)])
    t.is((await details({ username }))[0], 201, username);
  for (const password of ['short', 'x'.repeat(11), 'x'.repeat(129), 'with a NUL\0 in it', 7])
    t.deepEqual(Object.keys((await details({ password }))[1] ?? {}), ['password'], JSON.stringify(password));
  t.deepEqual(await details(publicKey('ssh-rsa AAAA')), [
    422,
    { 'public_keys.1.public_key': ['is cut off or damaged: its parts do not have the lengths that it says'] },
  ]);
  t.deepEqual(await details(publicKey('-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl')), [
    422,
    {
      'public_keys.1.public_key': [
        'is a private key, which must never leave your machine: give the line in the .pub file beside it',
      ],
    },
  ]);
  t.deepEqual(
    await details({
      public_keys: [
        { key_name: 'a', public_key: key.line },
        { key_name: 'b', public_key: key.line },
      ],
    }),
    [422, { 'public_keys.1.public_key': ['is given twice'] }],
  );
  t.deepEqual(Object.keys((await details({ public_keys: [{ key_name: '', public_key: key.line }] }))[1] ?? {}), [
    'public_keys.0.key_name',
  ]);
  t.deepEqual(
    Object.keys((await details({ public_keys: [{ key_name: 'x'.repeat(256), public_key: key.line }] }))[1] ?? {}),
    ['public_keys.0.key_name'],
  );
  t.is((await admin().request('POST', `/nodes/${NOBODY}/ssh_usernames`, { username: 'ada' })).status, 404);
  t.is((await admin().request('POST', '/nodes/nonsense/ssh_usernames', { username: 'ada' })).status, 400);
  t.is((await admin().request('GET', '/ssh_usernames?password=x')).status, 400);
});

test.serial(
  `a node has at most ${SSH_USERNAMES_MAX} usernames, and a username ${SSH_PUBLIC_KEYS_MAX} keys`,
  async (t) => {
    const { id: node } = await admin().node();
    const ada = await admin().username(node, 'ada', {
      keys: Array.from({ length: SSH_PUBLIC_KEYS_MAX }, () => newKey()),
    });
    await admin().rows(
      `insert into ssh_username (id, node_id, username, inserted_at, updated_at) select uuid_v7(), $1, 'user-' || n, now(), now() from generate_series(2, $2::int) n`,
      [node, SSH_USERNAMES_MAX],
    );

    const key = await admin().request('POST', `/ssh_usernames/${ada.id}/ssh_public_keys`, {
      key_name: 'k',
      public_key: newKey().line,
    });
    const username = await admin().request('POST', `/nodes/${node}/ssh_usernames`, { username: 'one-more' });
    const keys = await admin().request('POST', `/nodes/${node}/ssh_usernames`, {
      username: 'many-keys',
      public_keys: Array.from({ length: SSH_PUBLIC_KEYS_MAX + 1 }, () => ({
        key_name: 'k',
        public_key: newKey().line,
      })),
    });

    t.deepEqual([key.status, key.error?.message], [409, 'The SSH username has 64 keys already. Delete some first.']);
    t.deepEqual(
      [username.status, username.error?.message],
      [409, 'The node has 256 SSH usernames already. Delete some first.'],
    );
    t.is(keys.status, 422);
  },
);

test.serial('a retried create answers the same, and makes one', async (t) => {
  const { id: node } = await admin().node();
  const body = { username: 'ada', password: PASSWORD };
  const headers = { 'idempotency-key': 'ada' };

  const [first, second] = await Promise.all(
    [1, 2].map(() => admin().request('POST', `/nodes/${node}/ssh_usernames`, body, headers)),
  );
  const third = await admin().request('POST', `/nodes/${node}/ssh_usernames`, body, headers);
  const other = await admin().request(
    'POST',
    `/nodes/${node}/ssh_usernames`,
    { ...body, password: `${PASSWORD}!` },
    headers,
  );
  const keyBody = { key_name: 'k', public_key: newKey().line };
  const path = `/ssh_usernames/${String(first?.data['id'])}/ssh_public_keys`;
  const keys = [
    await admin().request('POST', path, keyBody, headers),
    await admin().request('POST', path, keyBody, headers),
  ];

  t.deepEqual([first?.status, second?.data, third.data], [201, first?.data, first?.data]);
  t.deepEqual([other.status, other.error?.code], [409, 'idempotency_conflict']);
  t.deepEqual([keys[0]?.status, keys[1]?.data], [201, keys[0]?.data]);
  t.is((await admin().request('GET', `/ssh_usernames?node_id__in=${node}`)).total, 1);
});

test.serial('usernames are found by name, node, cluster, password and the names of their keys', async (t) => {
  await admin().request('POST', '/clusters', { name: 'filters' });
  const { id: node } = await admin().node();
  await admin().request('POST', `/nodes/${node}/change_cluster`, { cluster_name: 'filters' });
  await admin().username(node, 'ada', { password: PASSWORD });
  await admin().username(node, 'bob', { keys: [newKey(), newKey()] });
  const names = async (query: string) =>
    (await admin().request('GET', `/ssh_usernames?cluster_name=filters&sort=username&${query}`)).rows.map(
      (row) => row['username'],
    );

  t.deepEqual(await names('page_size=5'), ['ada', 'bob']);
  t.deepEqual(await names('username=a*'), ['ada']);
  t.deepEqual(await names('username__in=bob,eve'), ['bob']);
  t.deepEqual(await names('has_password=true'), ['ada']);
  t.deepEqual(await names('has_password=false'), ['bob']);
  t.deepEqual(await names('key_name=key%201'), ['bob']);
  t.deepEqual(await names('key_name__in=key*,none'), ['bob']);
  t.deepEqual(await names(`node_id__in=${NOBODY}`), []);
  t.deepEqual(await names('inserted_at__lte=2020-01-01'), []);
  t.is((await admin().request('GET', `/ssh_public_keys?node_id__in=${node}&key_name=key*`)).total, 2);
});

test.serial('what belongs to a node goes with it, and the lists count on', async (t) => {
  const [going, staying] = [await admin().node(), await admin().node()];
  const ada = await admin().username(going.id, 'ada', { keys: [newKey()] });
  const bob = await admin().username(staying.id, 'bob', {
    keys: [
      keyOf('ssh-ed25519', [Buffer.from('5866666666666666666666666666666666666666666666666666666666666666', 'hex')]),
    ],
  });
  const totals = async () => [
    (await admin().request('GET', '/ssh_usernames')).total,
    (await admin().request('GET', '/ssh_public_keys')).total,
  ];
  const [usernames = 0, keys = 0] = await totals();

  t.is((await admin().request('DELETE', `/nodes/${going.id}`)).status, 204);

  t.is((await admin().request('GET', `/ssh_usernames/${ada.id}`)).status, 404);
  t.is((await admin().request('GET', `/ssh_usernames/${bob.id}`)).status, 200);
  t.deepEqual(await totals(), [usernames - 1, keys - 1]);
  t.is((await admin().rows('select 1 from ssh_public_key where id = $1', [ada.keys[0]])).length, 0);
});
