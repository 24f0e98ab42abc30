import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ADMIN_SETTING_THEMES, ADMIN_SETTINGS, readAdminConfig, type AdminConfig } from '../../../settings/admin.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MASTER_KEY = 'a-master-key-for-tests';

function configOf(env: Record<string, string>, hostName = 'host.example'): AdminConfig {
  const read = readAdminConfig({ MASTER_KEY, ...env }, hostName);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.config;
}

function problemsOf(env: Record<string, string>): readonly string[] {
  const read = readAdminConfig({ MASTER_KEY, ...env }, 'host.example');
  return read.ok ? [] : read.problems;
}

test('the master key is all that is needed, and the other keys fall back to it', (t) => {
  const config = configOf({});

  t.deepEqual(
    [config.API_KEY, config.METRICS_KEY, config.PROXY_KEY, config.MCP_KEY],
    [MASTER_KEY, MASTER_KEY, MASTER_KEY, MASTER_KEY],
  );
  t.like(config, {
    ADMIN_API_HOST: '0.0.0.0',
    ADMIN_API_PORT: 44_000,
    ADMIN_NAME: 'host',
    ADMIN_URLS: ['http://host.example:44000'],
    CORE_NAME: 'default',
    CORE_DERP_MAP_URLS: [],
    EDGE_VPN_DEFAULT_DOMAIN: 'edge.internal',
    CLUSTER_AUTO_GENERATED_V4_RANGES: ['100.64.0.0/10'],
    CLUSTER_V4_SUBNET_PREFIX: 24,
    DATA_DIR: '.data',
    DATABASE_WAIT_MS: 86_400_000,
    EXECUTION_RETENTION_DAYS: 30,
    EVENT_RETENTION_DAYS: 7,
    NODE_UNREACHABLE_AFTER_MS: 30_000,
    RANDOM_NODE_FORGET_AFTER_MS: 0,
    NODE_STATUS_DAMPING_MS: 30_000,
    MAX_BODY_BYTES: 1_048_576,
    PUBLIC_ENROLLMENT_KEY_ENABLED: false,
    API_DOCS_ENABLED: true,
    LOG_LEVEL: 'info',
  });
  t.deepEqual(
    [config.DATABASE_URL, config.ENCRYPTION_KEY, config.DEFAULT_CLUSTER_NAME, config.METRICS_BASE_URL],
    [undefined, undefined, undefined, undefined],
  );
});

test('a missing or short master key is one line', (t) => {
  const missing = readAdminConfig({});

  t.deepEqual(missing, {
    ok: false,
    problems: [
      'MASTER_KEY is not set: it should be 16 to 512 letters, digits and signs without spaces, as made by: openssl rand -hex 32',
    ],
  });
  t.is(problemsOf({ MASTER_KEY: 'short' }).length, 1);
});

test('a master key is made for an admin with a database of its own, once nothing else is wrong', (t) => {
  const asked: string[] = [];
  const key = randomBytes(32).toString('hex');
  const read = (env: Record<string, string>) =>
    readAdminConfig({ DATA_DIR: '/data', ...env }, 'host.example', (dataDir) => {
      asked.push(dataDir);
      return { file: `${dataDir}/master.key`, key };
    });

  const made = read({ PROXY_KEY: MASTER_KEY });
  t.true(made.ok);
  if (made.ok) {
    const { MASTER_KEY: master, API_KEY, METRICS_KEY, PROXY_KEY, MCP_KEY, masterKeyFile } = made.config;
    t.deepEqual([master, API_KEY, METRICS_KEY, PROXY_KEY, MCP_KEY], [key, key, key, MASTER_KEY, key]);
    t.is(masterKeyFile, '/data/master.key');
  }
  t.deepEqual(asked, ['/data']);
  const given = read({ MASTER_KEY });
  t.is(given.ok && given.config.masterKeyFile, null);
  t.false(read({ ADMIN_API_PORT: 'https' }).ok);
  t.false(read({ ALL_AUTH_ENABLED: 'false' }).ok);
  t.deepEqual(asked, ['/data'], 'nothing more was made');
});

test('none is made for admins that share a database, as each would make its own', (t) => {
  const env = { DATABASE_URL: 'postgresql://db.example/edge', ENCRYPTION_KEY: '00'.repeat(32) };

  t.deepEqual(
    readAdminConfig(env, 'host.example', () => t.fail()),
    {
      ok: false,
      problems: [
        'MASTER_KEY is not set: with DATABASE_URL it should be 16 to 512 letters, digits and signs without spaces, the same for all admins, as made by: openssl rand -hex 32',
      ],
    },
  );
});

test('what was written into its file since is refused where it can be no key, and not told', (t) => {
  for (const key of ['', 'short', 'changemechangeme', 'a key with spaces in it'])
    t.deepEqual(
      readAdminConfig({}, 'host.example', () => ({ file: '/data/master.key', key })),
      {
        ok: false,
        problems: [
          '/data/master.key holds no key that can be MASTER_KEY: remove that file, and the next start makes another one, or set MASTER_KEY',
        ],
      },
    );
});

test('ALL_AUTH_ENABLED decides for every surface that does not decide for itself', (t) => {
  const config = configOf({
    ALL_AUTH_ENABLED: 'false',
    MCP_AUTH_ENABLED: 'true',
    ALLOW_UNAUTHENTICATED_REMOTE_ACCESS: 'true',
  });

  t.like(config, {
    API_AUTH_ENABLED: false,
    METRICS_AUTH_ENABLED: false,
    PROXY_AUTH_ENABLED: false,
    MCP_AUTH_ENABLED: true,
  });
});

test('keys are switched off on loopback only, unless a second setting says that others may come in too', (t) => {
  const remedy = 'it should be 127.0.0.1, or ALLOW_UNAUTHENTICATED_REMOTE_ACCESS should be true';

  t.deepEqual(problemsOf({ ALL_AUTH_ENABLED: 'false' }), [
    `ADMIN_API_HOST is "0.0.0.0", where other machines connect, and API_AUTH_ENABLED, METRICS_AUTH_ENABLED, MCP_AUTH_ENABLED are false: ${remedy}`,
    `ADMIN_PROXY_HOST is "0.0.0.0", where other machines connect, and PROXY_AUTH_ENABLED is false: ${remedy}`,
  ]);
  t.deepEqual(problemsOf({ METRICS_AUTH_ENABLED: 'false', ADMIN_API_HOST: '::' }), [
    `ADMIN_API_HOST is "::", where other machines connect, and METRICS_AUTH_ENABLED is false: ${remedy}`,
  ]);
  t.deepEqual(problemsOf({ ADMIN_DEBUG_DASHBOARD_ENABLED: 'true', ADMIN_DEBUG_AUTH_ENABLED: 'false' }), [
    `ADMIN_API_HOST is "0.0.0.0", where other machines connect, and ADMIN_DEBUG_AUTH_ENABLED is false: ${remedy}`,
  ]);
  t.deepEqual(
    ['127.0.0.1', '127.9.9.9', '::1', 'localhost'].flatMap((host) =>
      problemsOf({ ALL_AUTH_ENABLED: 'false', ADMIN_API_HOST: host, ADMIN_PROXY_HOST: host }),
    ),
    [],
  );
  t.deepEqual(problemsOf({ ALL_AUTH_ENABLED: 'false', ALLOW_UNAUTHENTICATED_REMOTE_ACCESS: 'true' }), []);
  t.deepEqual(problemsOf({ PROXY_AUTH_ENABLED: 'false', ADMIN_PROXY_ENABLED: 'false' }), []);
});

test('URLs that are told to others hold no user name and no password, and none is printed', (t) => {
  for (const name of ['ADMIN_URLS', 'CORE_DERP_MAP_URLS']) {
    t.deepEqual(problemsOf({ [name]: 'https://one.example,https://me:CANARY@two.example' }), [
      `${name} is "https://***@two.example": it should be URLs without user name and password`,
    ]);
  }
});

test('further names of an admin are host names', (t) => {
  t.deepEqual(configOf({ ADMIN_ALLOWED_HOSTS: 'Edge, admin.example.com' }).ADMIN_ALLOWED_HOSTS, [
    'edge',
    'admin.example.com',
  ]);
  t.deepEqual(problemsOf({ ADMIN_ALLOWED_HOSTS: 'https://admin.example.com' }), [
    'ADMIN_ALLOWED_HOSTS is "https://admin.example.com": it should be a comma-separated list of at most 32 host names',
  ]);
});

test('an own database needs an own encryption key', (t) => {
  const problems = problemsOf({ DATABASE_URL: 'postgresql://u:p@db/edge' });

  t.is(problems.length, 1);
  t.regex(problems[0] ?? '', /^ENCRYPTION_KEY is not set: with DATABASE_URL it should be 32 bytes/u);
});

test('an encryption key is 32 bytes, in base64, base64url or hex', (t) => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i * 3));

  for (const written of [
    key.toString('base64'),
    key.toString('base64url'),
    key.toString('hex'),
    key.toString('hex').toUpperCase(),
  ]) {
    t.deepEqual(Buffer.from(configOf({ ENCRYPTION_KEY: written }).ENCRYPTION_KEY ?? []), key);
  }
  for (const wrong of ['abc', key.subarray(1).toString('base64'), key.toString('hex').slice(1), '!'.repeat(43)]) {
    t.is(problemsOf({ ENCRYPTION_KEY: wrong }).length, 1);
    t.false(problemsOf({ ENCRYPTION_KEY: wrong }).join('').includes(wrong));
  }
});

test("a database URL is PostgreSQL's, and its password is never repeated", (t) => {
  t.deepEqual(problemsOf({ DATABASE_URL: 'mysql://u:hunter2@db/edge' }), [
    'DATABASE_URL holds a value of 25 characters that does not fit: it should be a URL like postgresql://user:password@host:5432/database; several hosts as host1:5432,host2:5432, with target_session_attrs=read-write',
  ]);
});

test('the URLs wait for the port when any port will do', (t) => {
  t.deepEqual(configOf({ ADMIN_API_PORT: '0' }).ADMIN_URLS, []);
  t.deepEqual(configOf({ ADMIN_API_PORT: '0', ADMIN_URLS: 'https://a.example/' }).ADMIN_URLS, ['https://a.example']);
});

test('a host name that no admin may be called becomes one that it may', (t) => {
  t.is(configOf({}, 'My_Host.example').ADMIN_NAME, 'my-host');
  t.is(configOf({}, '---').ADMIN_NAME, 'admin');
  t.is(configOf({}, 'x'.repeat(80)).ADMIN_NAME, 'x'.repeat(63));
});

test('ranges must hold the subnets that are taken from them', (t) => {
  t.is(problemsOf({ CLUSTER_AUTO_GENERATED_V4_RANGES: '10.0.0.0/8,192.168.0.0/25' }).length, 1);
  t.is(problemsOf({ CLUSTER_AUTO_GENERATED_V4_RANGES: '10.0.0.0/8,300.0.0.0/8' }).length, 1);
  t.is(problemsOf({ CLUSTER_AUTO_GENERATED_V4_RANGES: '10.0.0.0/8, 192.168.0.0/16' }).length, 0);
});

test('the name default stands for another cluster', (t) => {
  t.is(problemsOf({ DEFAULT_CLUSTER_NAME: 'default' }).length, 1);
  t.is(problemsOf({ DEFAULT_CLUSTER_NAME: 'x'.repeat(25) }).length, 1);
  t.is(configOf({ DEFAULT_CLUSTER_NAME: 'home' }).DEFAULT_CLUSTER_NAME, 'home');
});

test('every setting belongs to one theme', (t) => {
  const names = Object.values(ADMIN_SETTING_THEMES).flatMap((shape) => Object.keys(shape));

  t.deepEqual(names.toSorted(), Object.keys(ADMIN_SETTINGS).toSorted());
});

test('the key of a trace collector may be in a file like every secret, and other tracing variables stay as they are', (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'headers');
  writeFileSync(file, 'authorization=Bearer%20k\n');

  const { tracing } = configOf({
    OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_SERVICE_NAME: 'x',
  });

  t.like(tracing, {
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20k',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_SERVICE_NAME: 'x',
  });
});

test('with a Netmaker server, settings of the embedded coordination are refused, except those that switch it off', (t) => {
  const netmaker = { MASTER_KEY, EDGE_VPN_API_URL: 'https://api.netmaker.example.com', EDGE_VPN_MASTER_KEY: 'key' };
  const idle = {
    ADMIN_GATEWAY_ENABLED: 'true',
    ADMIN_WIREGUARD_PORT: '51820',
    ADMIN_OBSERVER_PORT: '43478',
    EMBEDDED_RELAY: 'true',
    CORE_DERP_MAP_URLS: 'https://relays.example.com/map.json',
  };
  const off = {
    ADMIN_GATEWAY_ENABLED: 'false',
    ADMIN_OBSERVER_ENABLED: '0',
    EMBEDDED_RELAY: 'False',
    ADMIN_WIREGUARD_PORT: '',
  };

  const read = readAdminConfig({ ...netmaker, ...idle });
  t.deepEqual(
    read.ok ? [] : read.problems,
    Object.keys(idle).map(
      (name) =>
        `${name} is set: with EDGE_VPN_API_URL a Netmaker server coordinates the networks, and it would do nothing; it should be unset`,
    ),
  );
  t.true(readAdminConfig({ ...netmaker, ...off }).ok);
  t.true(readAdminConfig({ MASTER_KEY, ...idle }).ok);
});

test('an admin may not have more peers than one interface takes', (t) => {
  const read = (peers: string) => readAdminConfig({ MASTER_KEY, ADMIN_MAX_WIREGUARD_PEERS: peers });

  t.true(read('32768').ok);
  t.deepEqual(read('32769'), {
    ok: false,
    problems: ['ADMIN_MAX_WIREGUARD_PEERS is "32769": it should be a whole number from 1 to 32768'],
  });
});
