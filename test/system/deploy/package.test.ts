/**
 * The package that is published: built, packed and installed, then used as its users do. Not from a registry:
 * PostgreSQL's binaries are left out.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { VIEWER_FILES } from '../../../api/docs/viewer.ts';
import { ADMIN_KEYS, ENCRYPTION_KEY } from '../../support/admin.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { installPackage } from '../../support/releases/installation.ts';
import { createScope } from '../../support/scope.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);

/** Plain JavaScript is all that a published program may need of Node. */
const NODE_OPTIONS = '--no-experimental-strip-types';

/** What Prometheus and Grafana read. */
const MONITORING = [
  'deploy/prometheus/prometheus.yml',
  'deploy/prometheus/nodes.rules.yml',
  'deploy/grafana/dashboards/edge-fleet.json',
];

const scope = createScope();
test.after.always('its files go', () => scope.end());

let [home, dist, bin] = ['', '', ''];

test.before('it is built and installed', async () => {
  ({ home, dist, bin } = await installPackage(scope));
});

test('the published programs run a command on a machine, with nothing beside them but Node', async (t) => {
  const directory = temporaryDirectory(t);
  const edge = (...args: readonly string[]) =>
    called(join(bin, 'edge'), args, { HOME: directory, EDGE_URL: url, EDGE_API_KEY: ADMIN_KEYS.API_KEY });
  let url = '';

  t.deepEqual(
    readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['edge-fleet-control'],
  );
  for (const program of ['edge', 'edge-admin', 'edge-agent'])
    t.regex(await called(join(bin, program), ['--help'], {}), new RegExp(`(?:Usage: |^)${program} `, 'u'));

  const admin = Program.start(t, pathToFileURL(join(bin, 'edge-admin')), ['serve'], {
    ...(await adminSettings(t)),
    NODE_OPTIONS,
  });
  await admin.logged('edge-admin is ready');
  url = /"url":"(?<url>[^"]+)","msg":"edge-admin is ready/u.exec(admin.output)?.groups?.['url'] ?? '';
  await edge('cluster', 'create', 'site');
  const key = (await edge('key', 'create', 'site')).trim();
  const agent = Program.start(t, pathToFileURL(join(bin, 'edge-agent')), ['up'], {
    ENROLLMENT_KEY: key,
    AGENT_DATA_DIR: join(directory, 'agent'),
    AGENT_ALIASES: 'one',
    ...FREE_PORTS,
    NODE_OPTIONS,
  });
  await until('a healthy node', async () => (await edge('node', 'ls')).includes('healthy'));

  t.is(await edge('run', '--all', '--', 'echo it runs'), 'one: it runs\n');
  t.deepEqual(
    await served(url, '/console', '/asyncdoc/viewer', ...VIEWER_FILES.map(({ name }) => `/asyncdoc/viewer/${name}`)),
    [200, 200, 200, 200],
  );

  for (const program of [agent, admin]) {
    program.terminate();
    t.deepEqual(await program.ended(), { code: 0, signal: null }, program.output);
  }
});

test('the pages of the package lead to files in it, and monitoring finds what it reads', (t) => {
  const readme = readFileSync(join(dist, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?<to>[^)#]+)[^)]*\)/gu)].map(({ groups }) => groups?.['to'] ?? '');

  t.true(links.length > 5);
  t.deepEqual(
    links.filter((to) => !/^https?:/u.test(to) && !existsSync(join(dist, to))),
    [],
  );
  for (const file of MONITORING) t.deepEqual(readFileSync(join(dist, file)), readFileSync(join(ROOT, file)), file);
  t.deepEqual(globSync('deploy/**/*.ts', { cwd: dist }), []);
});

test('the package has the client, with its types', async (t) => {
  const program =
    "import { refusalOf } from 'edge-fleet-control/client'; import { verifyDelivery } from 'edge-fleet-control/client/webhooks'; console.log(refusalOf(new Error('x')), verifyDelivery({ secret: 'x', headers: {}, body: '' }).ok);";
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: home });

  t.is(stdout, 'null false\n');
  const { exports } = JSON.parse(readFileSync(join(dist, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
  t.deepEqual(
    Object.values(exports)
      .flatMap((files) => Object.values(files))
      .filter((file) => !existsSync(join(dist, file))),
    [],
  );
  t.is(exports['./client']?.['types'], './client/client.d.ts');
});

test('an older Node is told in one line which one is needed', async (t) => {
  for (const file of ['edge.js', 'edge-admin.js', 'edge-agent.cjs']) {
    const { stderr } = await t.throwsAsync<Error & { stderr: string }>(
      run(process.execPath, [
        '--import',
        'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"22.4.1"})',
        join(dist, file),
        '--help',
      ]),
    );

    t.regex(stderr, /^edge\S*: this is Node 22\.4\.1, and Node \d+\.\d+ or later is needed\n$/u);
  }
});

async function called(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await run(process.execPath, [program, ...args], { env: { ...env, NODE_OPTIONS } });
  return stdout;
}

async function served(url: string, ...paths: readonly string[]): Promise<readonly number[]> {
  return Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(url + path);
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
}

async function adminSettings(t: ExecutionContext): Promise<Record<string, string>> {
  const { user, host, port, database } = await createDatabase(t, { schema: 'empty' });
  return {
    ...ADMIN_KEYS,
    ENCRYPTION_KEY,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: '0',
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: '0',
    ADMIN_SOCKS5_PROXY_PORT: '0',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    DATABASE_URL: `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
  };
}
