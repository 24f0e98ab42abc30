/**
 * E4 for what reaches into machines: passwords, keys and tokens are in no log, event, answer, row, process list or
 * environment.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ava from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { leaksIn, type Secret } from '../../support/canary.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { allow, connectThrough, exchange, streamThrough, wordsTo } from '../../support/net/reach-fixture.ts';
import { childrenOf, procFile, processIds } from '../../support/processes.ts';
import { hangAfter } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { echo } from '../../support/net/listening.ts';
import { askpass, BY_PASSWORD, runClient, startClient } from '../../support/ssh/openssh.ts';

const test = await peerTest('ssh', 'ssh-keygen');
const RECOVERY = 'recovery-key-in-the-environment';
/** Of this fleet alone: others' tests show theirs to programs that have it in their words. */
const [PROXY_KEY, MASTER_KEY] = ['proxy', 'master'].map((use) => `${use}-key-${randomBytes(12).toString('hex')}`) as [
  string,
  string,
];
const fleet = sharedFleet(ava, {
  agents: 1,
  env: { PROXY_KEY, MASTER_KEY, LOG_LEVEL: 'debug', SSH_RECORDING: 'all', AUTH_FAILURES_PER_MINUTE_MAX: '100000' },
  agentEnv: { LOG_LEVEL: 'debug' },
});

const OWN_VARIABLES =
  /^(?:ENROLLMENT_KEY|RECOVERY_KEY|ADMIN_URLS|AGENT_\w+|PROXY_\w+|LOG_LEVEL|DATABASE_URL|ENCRYPTION_KEY|\w*_KEY)=/mu;

test.serial('nothing that opens a machine comes out anywhere', async (t) => {
  t.timeout(hangAfter(120_000));
  const directory = temporaryDirectory(t);
  const agent = fleet().agent();
  const node: NodeResource = await fleet().node(agent);
  const admin = fleet().admin();
  const [password, wrong] = [`right/+ ${randomBytes(9).toString('hex')}`, `wrong/+ ${randomBytes(9).toString('hex')}`];
  const login = await allow(fleet(), node.id, 'deploy', directory, { password });
  const { enrollment } = agent;
  const hostKey = readFileSync(join(agent.dataDirectory, 'ssh-host-key'), 'latin1');
  const secrets: Secret[] = [
    { name: 'PROXY_KEY', value: PROXY_KEY },
    { name: 'MASTER_KEY', value: MASTER_KEY },
    { name: 'SSH password', value: password },
    { name: 'wrong SSH password', value: wrong },
    { name: 'private key of a user', value: middleOf(readFileSync(login.path, 'latin1')) },
    { name: 'host key', value: middleOf(hostKey) },
    { name: 'token of the agent', value: enrollment.api_token },
    { name: 'proxy password of the agent', value: enrollment.proxy_password },
    { name: 'wrong proxy password', value: `proxy ${wrong}` },
  ];
  const seen: { readonly place: string; readonly text: string }[] = [];
  const byPassword = (command: string, shown: string) =>
    runClient(
      t,
      'ssh',
      [...wordsTo(node, { username: 'deploy', path: null }), ...BY_PASSWORD, command],
      '',
      askpass(directory, shown),
    );
  const port = await echo(t);

  // Everything is used, rightly and wrongly.
  t.is((await byPassword('echo in', password)).status, 0);
  await byPassword('true', wrong);
  const run = startClient(t, 'ssh', [
    ...wordsTo(node, login),
    'env; tr "\\0" "\\n" </proc/$PPID/environ | grep -c .; sleep 1011 & wait',
  ]);
  const said: string[] = [];
  run.stdout.on('data', (data: Buffer) => {
    said.push(String(data));
  });
  await until('what a session sees', () => said.join('').includes('SSH_CONNECTION='));
  for (const user of [`_:proxy ${wrong}`, `_:${PROXY_KEY}`, `${PROXY_KEY}:${wrong}`]) {
    for (const authority of [`${node.vpn_hostname}:${port}`, `${node.vpn_hostname}:1`, 'nowhere.fleet:1']) {
      const { status, body, stream } = await connectThrough(admin.httpProxyPort, authority, user);
      stream?.destroy();
      seen.push({ place: 'an answer of the proxy', text: `${status} ${body}` });
    }
    await connectThrough(node.http_proxy_port, 'localhost:1', user);
  }
  seen.push({
    place: 'an answer of the SOCKS5 proxy',
    text: await exchange(
      admin.socks5ProxyPort,
      Buffer.from(`\u0005\u0001\u0002\u0001\u0001_${String.fromCodePoint(wrong.length)}${wrong}`, 'latin1'),
    ),
  });
  (await streamThrough(admin.httpProxyPort, `${node.vpn_hostname}:${port}`, `_:${PROXY_KEY}`)).destroy();

  // A token of a tunnel, while it is good.
  const raw = await enrollRaw(t, fleet());
  const session = await raw.connect({ protocol: PROTOCOL_VERSION });
  const { vpn_hostname: name } = await fleet().rest.get<NodeResource>(`/nodes/${raw.node_id}`);
  const asked = connectThrough(admin.httpProxyPort, `${name}:1`, `_:${PROXY_KEY}`);
  secrets.push({ name: 'one-time token', value: (await session.frame('open-tunnel')).token });
  session.sendRaw('over');

  // What others on the machine see meanwhile.
  for (const pid of processIds())
    seen.push({ place: `the process list (${procFile(pid, 'comm').trim()})`, text: procFile(pid, 'cmdline') });
  const inside = below(agent.program.pid);
  t.true(inside.length > 0, 'a session has processes');
  for (const pid of inside) {
    const environment = procFile(pid, 'environ').replaceAll('\0', '\n');
    seen.push({ place: 'the environment of a session', text: environment });
    t.notRegex(environment, OWN_VARIABLES);
  }
  seen.push({ place: 'what a session sees', text: said.join('') });
  t.notRegex(said.join(''), OWN_VARIABLES);
  run.kill();
  await once(run, 'close');

  for (const at of [
    '/ssh_usernames',
    `/ssh_usernames/${await idOf('deploy')}`,
    '/ssh_public_keys',
    '/ssh_recordings',
    `/nodes/${node.id}`,
    '/nodes',
    '/admins/me',
  ]) {
    const { text } = await fleet().rest.call('GET', at);
    seen.push({ place: `GET ${at}`, text });
  }
  for (const at of ['/metrics', '/healthz', '/health/cluster'])
    seen.push({ place: at, text: await (await fetch(admin.url + at)).text() });
  await asked;
  const tables = await fleet().sql<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
  );
  for (const { name: table } of tables)
    seen.push({ place: `table ${table}`, text: JSON.stringify(await fleet().sql(`select t::text from ${table} t`)) });
  for (const { runs } of [...fleet().admins, ...fleet().agents])
    for (const { output } of runs) seen.push({ place: 'a log', text: output });

  t.deepEqual(
    [
      ...new Set(
        seen
          .flatMap(({ place, text }) => leaksIn(place, text, secrets))
          .map(({ secret, form, place }) => `${secret} as ${form} in ${place}`),
      ),
    ],
    [],
  );
  t.true(
    seen.some(({ place, text }) => place === 'a log' && text.includes('An SSH user logged in')) &&
      seen.some(({ text }) => text.includes('edge.ssh_username.verified')),
    'logs and events were looked at',
  );
  t.true(seen.length > 40, `${seen.length} places`);
});

test.serial('a shell has nothing of what the agent was started with', async (t) => {
  const directory = temporaryDirectory(t);
  const agent = fleet().agent();
  await agent.kill();
  agent.start({
    ENROLLMENT_KEY: (await fleet().key()).key,
    RECOVERY_KEY: `${agent.node}.${RECOVERY}`,
    HTTP_PROXY: `http://user:${RECOVERY}@127.0.0.1:1`,
    AWS_SECRET_ACCESS_KEY: RECOVERY,
    NODE_OPTIONS: '--no-warnings',
  });
  await agent.live();
  const node = await until('its new port', async () => {
    const one = await fleet().node(agent);
    return one.status === 'healthy' ? one : null;
  });
  const login = await allow(fleet(), node.id, 'shell', directory);

  for (const terminal of [['-T'], ['-tt']]) {
    const { stdout } = await until('a login', async () => {
      const one = await runClient(t, 'ssh', [...terminal, ...wordsTo(await fleet().node(), login), 'env']);
      return one.status === 0 ? one : null;
    });
    t.regex(stdout, /^HOME=/mu);
    t.deepEqual(
      stdout
        .split(/\r?\n/u)
        .map((line) => line.split('=')[0] ?? '')
        .filter((variable) => /KEY|PROXY|NODE_OPTIONS|AGENT_|ADMIN_/u.test(variable)),
      [],
    );
    t.false(stdout.includes(RECOVERY));
  }
});

/** A piece from the middle of a private key: its beginning and end are those of every key. */
function middleOf(key: string): string {
  const lines = key.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
  return (lines[Math.floor(lines.length / 2)] ?? '').slice(0, 60);
}

/** Processes that it began, and those that they began. */
function below(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...below(child)]);
}

async function idOf(username: string): Promise<string> {
  const [one] = await fleet().rest.get<readonly { readonly id: string }[]>(`/ssh_usernames?username=${username}`);
  return one?.id ?? '';
}
