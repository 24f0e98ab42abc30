/**
 * docs/high-availability.md: its balancers, with the configuration that stands there, before two real admins and one
 * that is not there: requests, feeds, sessions and tunnels go through each of them, also when an admin is killed.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { createLiveClient } from '../../../api/client/client.ts';
import { followCommand, type CommandState } from '../../../cli/run/watch.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { certificates, trust, type Certificates } from '../../support/net/certificates.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { prepareAgent } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { FORWARD } from '../../support/net/reach-fixture.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { urlOf } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('haproxy', 'nginx', 'caddy');

const PAGE = new URL('../../../docs/high-availability.md', import.meta.url);

/** The names of the page, as addresses of this machine. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'edge.example.com': '127.0.0.10',
  'admin-1.example.com': '127.0.0.11',
  'admin-2.example.com': '127.0.0.12',
  'admin-3.example.com': '127.0.0.13',
};

const TEST_MS_MAX = 180_000;

/** How many requests, and how many of them at once. */
const REQUESTS = 40;
const REQUESTS_AT_ONCE = 8;

/** Everybody's ports: of the balancer, and of admins by their place on the page. */
interface Ports {
  readonly front: number;
  readonly proxy: number;
  readonly api: readonly number[];
  readonly proxies: readonly number[];
}

/** The page's text for one balancer, at the addresses and ports of this run. */
async function configuration(kind: Kind, ports: Ports): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const text = new RegExp(`^\`\`\`${kind}\\n(?<text>.*?)^\`\`\`$`, 'msu').exec(page)?.groups?.['text'] ?? '';
  const named = Object.entries(ADDRESSES).reduce((all, [name, address]) => all.replaceAll(name, address), text);
  return named
    .replaceAll(/10\.0\.0\.(?<place>\d):44000/gu, (_all, place: string) => `127.0.0.1:${ports.api[Number(place) - 1]}`)
    .replaceAll(/10\.0\.0\.(?<place>\d):43128 check port 44000/gu, (_all, place: string) => {
      const at = Number(place) - 1;
      return `127.0.0.1:${ports.proxies[at]} check port ${ports.api[at]}`;
    })
    .replace(/bind :43128/u, `bind 127.0.0.1:${ports.proxy}`);
}

/** How each is started with its text, and by which scheme it is reached. */
const KINDS = {
  haproxy: {
    scheme: 'https',
    async start(t: ExecutionContext, text: string, { directory, front, tls }: Place) {
      const pem = join(directory, 'edge.pem');
      await writeFile(pem, `${await readFile(tls.server, 'utf8')}${await readFile(tls.serverKey, 'utf8')}`);
      const file = join(directory, 'haproxy.cfg');
      await writeFile(
        file,
        text
          .replace('bind :443', `bind :${front}`)
          .replace('/etc/haproxy/edge.pem', pem)
          .replace('maxconn 50000', 'maxconn 1000'),
      );
      return Program.run(t, await peerPath('haproxy'), ['-db', '-f', file]);
    },
  },
  nginx: {
    scheme: 'https',
    async start(t: ExecutionContext, text: string, { directory, front, tls }: Place) {
      const file = join(directory, 'nginx.conf');
      await writeFile(
        file,
        text
          .replace('listen 443', `listen ${front}`)
          .replace('/etc/nginx/edge.pem', tls.server)
          .replace('/etc/nginx/edge.key', tls.serverKey),
      );
      const own = `daemon off; error_log stderr; pid ${join(directory, 'nginx.pid')};`;
      return Program.run(t, await peerPath('nginx'), ['-p', directory, '-c', file, '-g', own]);
    },
  },
  caddy: {
    scheme: 'http', // it would ask for certificates of these names
    async start(t: ExecutionContext, text: string, { directory, front }: Place) {
      const file = join(directory, 'Caddyfile');
      const sites = text.replaceAll(/^(?<address>127\.\S+) \{/gmu, `http://$<address>:${front} {`);
      await writeFile(file, `{\n    admin off\n    auto_https off\n}\n${sites}`);
      return Program.run(t, await peerPath('caddy'), ['run', '--config', file], { XDG_DATA_HOME: directory });
    },
  },
} as const;

type Kind = keyof typeof KINDS;

interface Place {
  readonly directory: string;
  readonly front: number;
  readonly tls: Certificates;
}

/** Two admins and an agent behind one of them. */
async function behind(t: ExecutionContext, kind: Kind) {
  const { scheme } = KINDS[kind];
  const directory = temporaryDirectory(t, 0o755);
  const tls = await certificates(
    directory,
    Object.values(ADDRESSES)
      .map((address) => `IP:${address}`)
      .join(','),
  );
  trust(tls);
  const front = await freePort();
  const urls = Object.values(ADDRESSES).map((address) => `${scheme}://${address}:${front}`);
  const [url = '', ...ownUrls] = urls;
  const connection = await createDatabase(t);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ADMIN_URLS: urls.join(','),
    METRICS_SCRAPE_TIMEOUT_MS: '60s', // a node on a crowded machine may take longer than the usual 5 s
  };
  const admins = [
    await prepareAdmin(t, 'admin-1', { ...env, ADMIN_OWN_URL: ownUrls[0] ?? '' }),
    await prepareAdmin(t, 'admin-2', { ...env, ADMIN_OWN_URL: ownUrls[1] ?? '' }),
  ];
  const nobody = await freePort();
  const ports = {
    front,
    proxy: await freePort(),
    api: [...admins.map((admin) => Number(new URL(admin.url).port)), nobody],
    proxies: [...admins.map(({ httpProxyPort }) => httpProxyPort), nobody],
  };
  const balancer = await KINDS[kind].start(t, await configuration(kind, ports), { directory, front, tls });
  t.teardown(async () => {
    balancer.terminate(); // a killed nginx leaves its workers
    await balancer.ended();
  });
  await Promise.all(admins.map((admin) => admin.start()));
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  await until(`${kind} to lead to an admin`, async () => {
    if (balancer.exit !== null) throw new Error(balancer.output);
    return (await fetch(`${url}/readyz`)).ok;
  });
  await rest.post('/clusters', { name: 'field' });
  const { key } = await rest.post<EnrollmentKeyResource>('/clusters/field/enrollment_keys', {});
  prepareAgent(t, join(directory, 'agent'), {
    ADMIN_URLS: url,
    ENROLLMENT_KEY: key,
    NODE_EXTRA_CA_CERTS: tls.ca,
  }).start();
  const node = await until('the node to be healthy', async () => {
    const [found] = await rest.get<readonly NodeResource[]>('/nodes?status__in=healthy');
    return found ?? null;
  });
  return { admins, url, rest, node, ports, directory };
}

type Behind = Awaited<ReturnType<typeof behind>>;

/** A command on the node, followed by a live feed to its end. */
async function run(t: ExecutionContext, { url, rest }: Behind, script: string): Promise<CommandState | null> {
  const live = createLiveClient({ url, key: FLEET_KEYS.MASTER_KEY });
  t.teardown(() => live.close());
  const command = await rest.post<CommandResource>('/commands', { command_text: script, targeting: { type: 'all' } });
  return followCommand(live.api, command.id, AbortSignal.timeout(scaled(30_000)), () => {});
}

/** Names of the admins that answered so many requests, some at once, or how one failed. */
async function answering({ rest }: Behind): Promise<readonly string[]> {
  const names: string[] = [];
  const asked = async () => {
    const { status, data, text } = await rest.call<{ name: string }>('GET', '/admins/me');
    return status === 200 ? data.name : `${status} ${text}`;
  };
  while (names.length < REQUESTS)
    names.push(...(await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, () => asked()))));
  return names;
}

const different = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted();

async function owner({ admins, rest }: Behind): Promise<AdminProgram> {
  const owned = await rest.get<Readonly<Record<string, object>>>('/admins/edge_clusters');
  const found = admins.find(({ name }) => name in owned);
  if (found === undefined) throw new Error('nobody owns the cluster');
  return found;
}

/** The status of a page on the node, by the proxies behind the balancer: its own machine's admins are there, too. */
async function throughProxy({ admins, node, ports }: Behind): Promise<number | undefined> {
  const alive = admins.find(({ program }) => program.exit === null);
  const request = get({
    host: '127.0.0.1',
    port: ports.proxy,
    path: `http://${node.vpn_hostname}:${new URL(alive?.url ?? '').port}/livez`,
    headers: { 'proxy-authorization': `Basic ${Buffer.from(FORWARD).toString('base64')}` },
  });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

for (const kind of Object.keys(KINDS) as Kind[])
  test.serial(
    `${kind} as the page has it: requests, feeds, a session and scrapes go through it, and on when the owner is killed`,
    async (t) => {
      t.timeout(hangAfter(TEST_MS_MAX));
      const fleet = await behind(t, kind);
      const { rest, node } = fleet;

      const before = await until('both admins to be in turns', async () => {
        const names = await answering(fleet);
        return names.includes('admin-1') && names.includes('admin-2') && names;
      });
      const first = await run(t, fleet, 'echo first');
      const scrapes: unknown[] = [];
      for (const source of ['agent', 'host', 'agent', 'host']) {
        const answer = await rest.call('GET', `/nodes/${node.id}/metrics/${source}/raw`);
        scrapes.push(answer.status === 200 ? 200 : answer);
      }
      const killed = await owner(fleet);
      await killed.kill();
      const after = await answering(fleet);
      const second = await run(t, fleet, 'echo second');

      t.deepEqual(different(before), ['admin-1', 'admin-2'], 'the one that is not there costs nothing');
      t.is(first?.summary.succeeded, 1);
      t.deepEqual(scrapes, [200, 200, 200, 200]);
      t.deepEqual(
        different(after),
        [killed.name === 'admin-1' ? 'admin-2' : 'admin-1'],
        'no request fails once it is dead',
      );
      t.is(second?.summary.succeeded, 1);
      if (kind === 'haproxy') t.is(await throughProxy(fleet), 200, 'the proxies too');
    },
  );
