/**
 * A stand-in for a Netmaker server: its REST API as far as this project uses it, in memory, with the quirks of its
 * versions to be switched. Written after its controllers and models of versions 0.18 to 1, as public documentation and
 * sources describe them. A real one is the judge where there is one: see test/contract/vpn/netmaker.test.ts.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Scope } from '../scope.ts';

/** How this server differs from others. */
export interface Quirks {
  /** Empty lists are `null`. */
  readonly nullLists: boolean;
  /** Every answer is {Code, Message, Response}. */
  readonly wraps: boolean;
  /** What is not there is answered with this. */
  readonly missing: 400 | 404 | 500;
  /** Hosts that leave a network stay in its list, `pendingdelete`, until `settle`. Null: gone without a trace. */
  readonly lateDeletes: boolean;
  /** A network comes with an enrolment key of its own. */
  readonly defaultKeys: boolean;
  /** Put behind every name that is listed; empty: nothing. */
  readonly domain: string;
  /** Nodes say by a word whether they are connected. */
  readonly saysStatus: boolean;
}

/** Of a server of today. */
export const MODERN: Quirks = {
  nullLists: true,
  wraps: false,
  missing: 500,
  lateDeletes: false,
  defaultKeys: true,
  domain: 'nm.test',
  saysStatus: true,
};

/**
 * What a fault does to a request: no answer, an answer of another program, one that says it is busy, or the work done
 * and the answer lost.
 */
export type Fault = 'hang' | 'cut' | 'busy' | 'garbage' | 'endless' | 'lost' | null;

interface StoredNode {
  readonly id: string;
  readonly host: string;
  readonly network: string;
  readonly index: number;
  isLeaving: boolean;
  isConnected: boolean;
  lastCheckInMs: number;
}

interface StoredKey {
  readonly value: string;
  readonly networks: readonly string[];
  readonly tags: readonly string[];
  readonly unlimited: boolean;
  readonly default: boolean;
}

/** A running stand-in. */
export interface FakeNetmaker {
  readonly url: string;
  readonly masterKey: string;
  quirks: Quirks;
  /** What happens to the next requests; asked for each. */
  fault: (method: string, path: string) => Fault;
  /** Every request, as `METHOD path`. */
  readonly requests: string[];
  /** Requests that were answered at the same time, at most. */
  openMax(): number;
  /** A machine's client enters a network by its token, as `netclient` does: its host's id. */
  register(token: string, name: string, id?: string): Promise<string>;
  /** Late deletions are over. */
  settle(): void;
  /** By hand, past the API. */
  readonly byHand: {
    network(name: string, range: string): void;
    host(name: string, isDefault?: boolean): string;
    put(host: string, network: string): void;
    takeOut(host: string, network: string): void;
    dropNetwork(name: string): void;
    dropHost(id: string): void;
    dns(network: string, name: string, address: string): void;
    dropDns(network: string): void;
    connect(host: string, isConnected: boolean): void;
  };
  /** What is there: networks with names of hosts, and names with the host that they lead to. */
  state(): {
    readonly networks: Readonly<
      Record<string, { readonly hosts: readonly string[]; readonly names: Readonly<Record<string, string | null>> }>
    >;
    readonly hosts: readonly string[];
  };
  addressesOf(network: string): readonly string[];
}

/** Starts one, ended with the scope. */
export async function startFakeNetmaker(scope: Scope, quirks: Quirks = MODERN): Promise<FakeNetmaker> {
  const masterKey = `nm-${randomBytes(24).toString('base64url')}`;
  const networks = new Map<string, { readonly range: string; readonly range6: string; next: number }>();
  const hosts = new Map<string, { readonly name: string; readonly isDefault: boolean }>();
  const nodes = new Map<string, StoredNode>();
  const dns = new Map<
    string,
    { readonly network: string; readonly name: string; readonly address: string; readonly address6: string }
  >();
  const keys = new Map<string, StoredKey>();
  const requests: string[] = [];
  let open = 0;
  let openMax = 0;

  const live = (): StoredNode[] => [...nodes.values()].filter((node) => !node.isLeaving);
  const nodeOf = (host: string, network: string): StoredNode | undefined =>
    live().find((node) => node.host === host && node.network === network);
  const addressOf = (node: StoredNode, family: 4 | 6): string => {
    const { range, range6 } = networks.get(node.network) ?? { range: '', range6: '' };
    return family === 4
      ? range.replace(/\d+\/\d+$/u, String(node.index))
      : range6.replace(/\/\d+$/u, String(node.index));
  };
  const put = (host: string, network: string): void => {
    const into = networks.get(network);
    if (into === undefined) throw new Error('no network');
    into.next += 1;
    const id = randomUUID();
    nodes.set(id, {
      id,
      host,
      network,
      index: into.next,
      isLeaving: false,
      isConnected: true,
      lastCheckInMs: Date.now(),
    });
  };
  const takeOut = (node: StoredNode, isLate: boolean): void => {
    if (isLate) node.isLeaving = true;
    else nodes.delete(node.id);
  };
  const makeNetwork = (name: string, range: string, range6: string): void => {
    networks.set(name, { range, range6, next: 1 });
    if (fake.quirks.defaultKeys) addKey([name], [name], true, true);
    for (const [host, { isDefault }] of hosts) if (isDefault) put(host, name);
  };
  const addKey = (
    of: readonly string[],
    tags: readonly string[],
    unlimited: boolean,
    isDefault: boolean,
  ): StoredKey => {
    const key = { value: randomBytes(16).toString('hex'), networks: of, tags, unlimited, default: isDefault };
    keys.set(key.value, key);
    return key;
  };
  const tokenOf = (key: StoredKey): string =>
    Buffer.from(JSON.stringify({ server: 'api.nm.test', value: key.value })).toString('base64');
  const keyView = (key: StoredKey): object => ({
    ...key,
    token: tokenOf(key),
    expiration: '0001-01-01T00:00:00Z',
    uses_remaining: 0,
    type: 3,
    groups: null,
    relay: '00000000-0000-0000-0000-000000000000',
  });

  const missing = (what: string): Answer => ({
    status: fake.quirks.missing,
    body: { Code: fake.quirks.missing, Message: `${what}: could not find any records` },
  });
  const refused = (status: number, message: string): Answer => ({ status, body: { Code: status, Message: message } });
  const list = (entries: readonly unknown[]): Answer => ({
    status: 200,
    body: entries.length === 0 && fake.quirks.nullLists ? null : entries,
  });
  const nodeView = (node: StoredNode): object => ({
    id: node.id,
    hostid: node.host,
    network: node.network,
    address: `${addressOf(node, 4)}/24`,
    address6: `${addressOf(node, 6)}/64`,
    pendingdelete: node.isLeaving,
    connected: true,
    lastcheckin: Math.floor(node.lastCheckInMs / 1_000),
    tags: null,
    is_static: false,
    ...(fake.quirks.saysStatus ? { status: node.isConnected ? 'online' : 'offline' } : {}),
  });
  const behind = (name: string): string => (fake.quirks.domain === '' ? name : `${name}.${fake.quirks.domain}`);
  const customDns = (network: string): object[] =>
    [...dns.values()]
      .filter((entry) => entry.network === network)
      .map((entry) => ({ ...entry, name: behind(entry.name) }));
  const allDns = (network: string): object[] => [
    ...live()
      .filter((node) => node.network === network)
      .map((node) => ({
        name: behind(`${hosts.get(node.host)?.name ?? ''}.${network}`),
        network,
        address: addressOf(node, 4),
        address6: addressOf(node, 6),
      })),
    ...customDns(network),
  ];

  function answer(
    method: string,
    [area, ...rest]: readonly string[],
    query: URLSearchParams,
    body: Record<string, unknown>,
  ): Answer {
    const [first = '', second = '', third = ''] = rest;
    switch (`${method} ${area}`) {
      case 'GET networks':
        return list(
          [...networks].map(([netid, { range, range6 }]) => ({
            netid,
            addressrange: range,
            addressrange6: range6,
            defaultacl: 'yes',
            auto_remove_tags: null,
          })),
        );
      case 'POST networks': {
        const [name, range] = [String(body['netid']), String(body['addressrange'])];
        if (networks.has(name)) return refused(400, 'network name already exists');
        if (name.length > 32 || !/^[a-z0-9_-]+$/u.test(name))
          return refused(400, "Key: 'Network.NetID' Error:Field validation for 'NetID' failed on the 'max' tag");
        if ([...networks.values()].some((network) => network.range === range))
          return refused(400, `network cidr already in use ${range}`);
        makeNetwork(name, range, String(body['addressrange6']));
        return { status: 200, body: { netid: name, addressrange: range } };
      }
      case 'DELETE networks':
        if (!networks.has(first)) return missing(first);
        if ([...nodes.values()].some((node) => node.network === first))
          return refused(403, 'Node check failed. All nodes must be deleted before deleting network.');
        networks.delete(first);
        for (const [value, key] of keys) if (key.default && key.networks.includes(first)) keys.delete(value);
        return { status: 200, body: 'success' };
      case 'GET hosts':
        return list(
          [...hosts].map(([id, { name, isDefault }]) => ({
            id,
            name,
            isdefault: isDefault,
            nodes: live()
              .filter((node) => node.host === id)
              .map((node) => node.id),
            endpointip: '198.51.100.7',
          })),
        );
      case 'DELETE hosts': {
        const host = hosts.get(first);
        if (host === undefined) return missing(first);
        if (second === 'networks') {
          const node = nodeOf(first, third);
          if (node === undefined) return refused(500, `host not part of the network ${third}`);
          takeOut(node, fake.quirks.lateDeletes);
          return { status: 200, body: null };
        }
        if (query.get('force') !== 'true' && live().some((node) => node.host === first))
          return refused(500, 'host still has associated nodes');
        for (const node of nodes.values()) if (node.host === first) nodes.delete(node.id);
        hosts.delete(first);
        return { status: 200, body: { id: first, name: host.name } };
      }
      case 'POST hosts':
        if (!hosts.has(first)) return missing(first);
        if (!networks.has(third)) return missing(third);
        if (nodeOf(first, third) !== undefined) return refused(500, `host already part of network ${third}`);
        put(first, third);
        return { status: 200, body: null };
      case 'GET nodes':
        if (first !== '' && !networks.has(first)) return missing(first);
        return list([...nodes.values()].filter((node) => first === '' || node.network === first).map(nodeView));
      case 'GET dns': {
        if (first === '') return list([...networks.keys()].flatMap(allDns));
        return third === 'custom' ? list(customDns(second)) : list(allDns(second));
      }
      case 'POST dns': {
        const name = String(body['name']);
        if (!networks.has(first))
          return refused(
            400,
            "Key: 'DNSEntry.Network' Error:Field validation for 'Network' failed on the 'network_exists' tag",
          );
        if (
          !/^[A-Za-z0-9-.]+$/u.test(name) ||
          customDns(first).some((entry) => (entry as { name: string }).name === name)
        )
          return refused(400, "Key: 'DNSEntry.Name' Error:Field validation for 'Name' failed on the 'name_unique' tag");
        dns.set(`${name}.${first}`, {
          network: first,
          name,
          address: String(body['address']),
          address6: String(body['address6']),
        });
        return { status: 200, body: { name, network: first } };
      }
      case 'DELETE dns':
        return dns.delete(
          `${fake.quirks.domain !== '' && second.endsWith(`.${fake.quirks.domain}`) ? second.slice(0, -fake.quirks.domain.length - 1) : second}.${first}`,
        )
          ? { status: 200, body: `${second}.${first} deleted.` }
          : missing(second);
      case 'GET server':
        return first === 'getserverinfo'
          ? { status: 200, body: { Version: 'v1.0.0', DefaultDomain: fake.quirks.domain } }
          : { status: 200, body: { db_connected: true, broker_connected: true, license_error: '', is_pro: false } };
      case 'GET v1':
        return list([...keys.values()].map(keyView));
      case 'POST v1': {
        if (first === 'host') return registered(third, body);
        const [of, tags] = [body['networks'] as string[], body['tags'] as string[]];
        if (tags.some((tag) => tag.length < 3 || tag.length > 32))
          return refused(400, 'validation error: name length must be between 3 and 32');
        if ([...keys.values()].some((key) => key.tags.some((tag) => tags.includes(tag))))
          return refused(400, 'key names must be unique');
        return { status: 200, body: keyView(addKey(of, tags, body['unlimited'] === true, false)) };
      }
      default:
        return { status: 404, body: '404 page not found' };
    }
  }

  function registered(token: string, body: Record<string, unknown>): Answer {
    const { value } = JSON.parse(Buffer.from(token, 'base64').toString() || '{}') as { value?: string };
    const key = keys.get(value ?? '');
    if (key === undefined) return refused(400, 'invalid enrollment key');
    const id = String(body['id']);
    if (!hosts.has(id)) hosts.set(id, { name: String(body['name']), isDefault: false });
    for (const network of key.networks)
      if (networks.has(network) && nodeOf(id, network) === undefined) put(id, network);
    return { status: 200, body: { server_config: {}, requested_host: { id } } };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://netmaker');
    const method = request.method ?? '';
    requests.push(`${method} ${url.pathname}`);
    const fault = fake.fault(method, url.pathname);
    if (fault === 'hang') return;
    if (fault === 'cut') return void request.socket.destroy();
    if (fault === 'busy') return void response.writeHead(503).end('busy');
    if (fault === 'garbage')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>a login page</html>');
    if (fault === 'endless') return flood(response);
    const sent = await text(request);
    const path = url.pathname.split('/').slice(2).map(decodeURIComponent);
    const isOpen = url.pathname === '/api/server/status' || url.pathname.startsWith('/api/v1/host/register/');
    const isLetIn = isOpen || request.headers.authorization === `Bearer ${masterKey}`;
    const { status, body } = isLetIn
      ? answer(method, path, url.searchParams, sent === '' ? {} : (JSON.parse(sent) as Record<string, unknown>))
      : refused(
          401,
          `W1R3: You are unauthorized to access this endpoint with ${request.headers.authorization ?? 'nothing'}.`,
        );
    if (fault === 'lost') return void request.socket.destroy();
    const isWrapped = fake.quirks.wraps && status === 200;
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(isWrapped ? { Code: 200, Message: 'fetched', Response: body } : body));
  }

  const server = createServer((request, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    response.on('close', () => {
      open -= 1;
    });
    void serve(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  scope.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );

  const fake: FakeNetmaker = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    masterKey,
    quirks,
    fault: () => null,
    requests,
    openMax: () => openMax,
    async register(token, name, id = randomUUID()) {
      const response = await fetch(`${fake.url}/api/v1/host/register/${encodeURIComponent(token)}`, {
        method: 'POST',
        body: JSON.stringify({ id, name, version: 'v1.0.0' }),
      });
      if (!response.ok) throw new Error(`the host was not registered: ${response.status}`);
      await response.arrayBuffer();
      return id;
    },
    settle() {
      for (const node of nodes.values()) if (node.isLeaving) nodes.delete(node.id);
    },
    byHand: {
      network: (name, range) => makeNetwork(name, range, 'fd00::/64'),
      host(name, isDefault = false) {
        const id = randomUUID();
        hosts.set(id, { name, isDefault });
        return id;
      },
      put,
      takeOut(host, network) {
        const node = nodeOf(host, network);
        if (node !== undefined) nodes.delete(node.id);
      },
      dropNetwork(name) {
        for (const node of nodes.values()) if (node.network === name) nodes.delete(node.id);
        networks.delete(name);
      },
      dropHost(id) {
        for (const node of nodes.values()) if (node.host === id) nodes.delete(node.id);
        hosts.delete(id);
      },
      dns: (network, name, address) => void dns.set(`${name}.${network}`, { network, name, address, address6: '' }),
      dropDns(network) {
        for (const [key, entry] of dns) if (entry.network === network) dns.delete(key);
      },
      connect(host, isConnected) {
        for (const node of nodes.values())
          if (node.host === host) Object.assign(node, { isConnected, lastCheckInMs: isConnected ? Date.now() : 0 });
      },
    },
    state: () => ({
      networks: Object.fromEntries(
        [...networks.keys()].toSorted().map((network) => {
          const members = live().filter((node) => node.network === network);
          const hostAt = new Map(members.map((node) => [addressOf(node, 4), hosts.get(node.host)?.name ?? null]));
          return [
            network,
            {
              hosts: members.map((node) => hosts.get(node.host)?.name ?? '').toSorted(),
              names: Object.fromEntries(
                [...dns.values()]
                  .filter((entry) => entry.network === network)
                  .map((entry) => [entry.name, hostAt.get(entry.address) ?? null] as const)
                  .toSorted(([one], [other]) => (one < other ? -1 : 1)),
              ),
            },
          ];
        }),
      ),
      hosts: [...hosts.values()].map((host) => host.name).toSorted(),
    }),
    addressesOf: (network) =>
      live()
        .filter((node) => node.network === network)
        .flatMap((node) => [addressOf(node, 4), addressOf(node, 6)]),
  };
  return fake;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** More than anybody should read. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(1 << 20, ' ');
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}
