/**
 * The OpenAPI document against a running admin: Schemathesis makes requests out of it, right and wrong ones, and every
 * answer must be declared.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_KEYS } from '../../support/admin.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { startFleet } from './fleet.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('schemathesis');

/**
 * How long it looks, in s: on a quiet machine at most operations, on a busy one at some. By hand it may be longer, and
 * with another seed: `SCHEMATHESIS_SECONDS=600 SCHEMATHESIS_SEED=7`.
 */
const SECONDS = Number(process.env['SCHEMATHESIS_SECONDS'] ?? 40);
const SEED = process.env['SCHEMATHESIS_SEED'] ?? '1';

/** What the test takes beyond that at most, in ms: starts of an admin and of Python, and the phase that it is in. */
const SLACK_MS = 110_000;

/**
 * Bodies of which the document cannot say all: what a name or a time stands for is looked up, and what is in base64 is
 * unpacked.
 */
const BEYOND_SCHEMA = [
  'POST /api/v1/clusters',
  'POST /api/v1/commands',
  'POST /api/v1/self_update_requests',
  'POST /api/v1/release_metadata',
  'POST /api/v1/webhooks',
  'POST /api/v1/nodes/{id}/change_cluster',
  'POST /api/v1/nodes/{node_id}/ssh_usernames',
  'POST /api/v1/ssh_usernames/{id}/ssh_public_keys',
  'GET /api/v1/terminal', // it wants an upgrade
];

/** 503 is an answer like others here: the nodes of this admin have no agents. 500 never is. */
const SETTINGS = `
continue-on-failure = true
warnings = false
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
${BEYOND_SCHEMA.map((name) => `[[operations]]\ninclude-name = "${name}"\nchecks.positive_data_acceptance.enabled = false\n`).join('')}`;

test('no request that follows the document, or nearly does, gets an answer that it does not declare', async (t) => {
  t.timeout(hangAfter(SECONDS * 1_000 + SLACK_MS));
  const { admin, cluster, request } = await startFleet(t, {
    AUTH_FAILURES_PER_MINUTE_MAX: '100000',
    DEFAULT_CLUSTER_NAME: 'one',
    PUBLIC_ENROLLMENT_KEY_ENABLED: 'true',
  });
  await cluster('one', 3);
  await request('POST', '/commands', { command_text: 'true', targeting: { type: 'all' } });
  const directory = temporaryDirectory(t);
  await writeFile(join(directory, 'settings.toml'), SETTINGS);

  const words = [
    '--config-file',
    'settings.toml',
    'run',
    `${admin.url}/api/openapi`,
    '--header',
    `Authorization: Bearer ${ADMIN_KEYS.MASTER_KEY}`,
    '--seed',
    SEED,
    '--max-time',
    String(SECONDS),
    '--phases',
    'coverage,fuzzing',
    '--max-examples',
    '20',
    '--workers',
    '1', // threads that parse Python at once end with a SystemError (gh-106905 of CPython 3.11)
    '--no-color',
    '--generation-database',
    'none',
    '--request-timeout',
    String(scaled(20_000) / 1_000),
  ];
  const said = await promisify(execFile)(await peerPath('schemathesis'), ['-m', 'schemathesis.cli', ...words], {
    cwd: directory,
    maxBuffer: 64 * 1_024 * 1_024,
  }).then(
    ({ stdout }) => ({ stdout, isClean: true }),
    ({ stdout = '', message }: { readonly stdout?: string; readonly message: string }) => ({
      stdout: stdout === '' ? message : stdout,
      isClean: false,
    }),
  );

  t.true(said.isClean, said.stdout);
  t.regex(said.stdout, /^ *Tested: [1-9]\d*$/mu, 'it looked at something');
  t.deepEqual(
    admin.log.lines.filter(({ level }) => level === 'error'),
    [],
  );
});
