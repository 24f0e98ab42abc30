/** The REST API of a Netmaker server, as far as this project uses it: what it answers to a request that it lets in. */
import type { Quirks } from './quirks.ts';
import type { NetmakerState, StoredKey, StoredName, StoredNode } from './state.ts';

/** What is answered. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What is asked. */
export interface Asked {
  readonly method: string;
  /** What stands behind `/api`, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

const ok = (body: unknown): Answer => ({ status: 200, body });

/** A refusal, as Netmaker words it. */
export const refused = (status: number, message: string): Answer => ({
  status,
  body: { Code: status, Message: message },
});

/** A field that the validator of Netmaker does not take. */
const invalid = (field: string, tag: string): Answer => {
  const name = field.split('.')[1] ?? '';
  return refused(400, `Key: '${field}' Error:Field validation for '${name}' failed on the '${tag}' tag`);
};

type Handler = (api: NetmakerApi, asked: Asked, words: readonly [string, string, string]) => Answer;

/** By method and first word of the path. The words are what follows. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  'GET networks': (api) => api.networks(),
  'POST networks': (api, { body }) => api.makeNetwork(body),
  'DELETE networks': (api, _asked, [name]) => api.deleteNetwork(name),
  'GET hosts': (api) => api.hosts(),
  'POST hosts': (api, _asked, [host, , network]) => api.enter(host, network),
  'DELETE hosts': (api, { query }, [host, area, network]) =>
    area === 'networks' ? api.leave(host, network) : api.deleteHost(host, query.get('force') === 'true'),
  'GET nodes': (api, _asked, [network]) => api.nodes(network),
  'GET dns': (api, _asked, [, network, kind]) => api.names(network, kind === 'custom'),
  'POST dns': (api, { body }, [network]) => api.makeName(network, body),
  'DELETE dns': (api, _asked, [network, name]) => api.deleteName(network, name),
  'GET server': (api, _asked, [what]) => api.server(what),
  'GET v1': (api) => api.keys(),
  'POST v1': (api, { body }, [area, , token]) => (area === 'host' ? api.register(token, body) : api.makeKey(body)),
};

/** The API over a state. */
export class NetmakerApi {
  readonly #state: NetmakerState;
  readonly #quirks: Quirks;

  constructor(state: NetmakerState, quirks: Quirks) {
    this.#state = state;
    this.#quirks = quirks;
  }

  answer(asked: Asked): Answer {
    const [area = '', first = '', second = '', third = ''] = asked.path;
    const handler = HANDLERS[`${asked.method} ${area}`];
    return handler?.(this, asked, [first, second, third]) ?? { status: 404, body: '404 page not found' };
  }

  networks(): Answer {
    return this.#list(
      [...this.#state.networks].map(([netid, { range, range6 }]) => ({
        netid,
        addressrange: range,
        addressrange6: range6,
        defaultacl: 'yes',
        auto_remove_tags: null,
      })),
    );
  }

  makeNetwork(body: Asked['body']): Answer {
    const [name, range] = [String(body['netid']), String(body['addressrange'])];
    const { networks } = this.#state;
    if (networks.has(name)) return refused(400, 'network name already exists');
    if (name.length > 32 || !/^[a-z0-9_-]+$/u.test(name)) return invalid('Network.NetID', 'max');
    if ([...networks.values()].some((network) => network.range === range))
      return refused(400, `network cidr already in use ${range}`);
    this.#state.network(name, range, String(body['addressrange6']));
    return ok({ netid: name, addressrange: range });
  }

  deleteNetwork(name: string): Answer {
    const { networks, nodes, keys } = this.#state;
    if (!networks.has(name)) return this.#missing(name);
    if ([...nodes.values()].some((node) => node.network === name))
      return refused(403, 'Node check failed. All nodes must be deleted before deleting network.');
    networks.delete(name);
    for (const key of keys.values()) if (key.default && key.networks.includes(name)) keys.delete(key.value);
    return ok('success');
  }

  hosts(): Answer {
    const nodesOf = (host: string): string[] =>
      this.#state
        .live()
        .filter((node) => node.host === host)
        .map((node) => node.id);
    return this.#list(
      [...this.#state.hosts].map(([id, { name, isDefault }]) => ({
        id,
        name,
        isdefault: isDefault,
        nodes: nodesOf(id),
        endpointip: '198.51.100.7',
      })),
    );
  }

  enter(host: string, network: string): Answer {
    if (!this.#state.hosts.has(host)) return this.#missing(host);
    if (!this.#state.networks.has(network)) return this.#missing(network);
    if (this.#state.nodeOf(host, network) !== undefined) return refused(500, `host already part of network ${network}`);
    this.#state.put(host, network);
    return ok(null);
  }

  leave(host: string, network: string): Answer {
    if (!this.#state.hosts.has(host)) return this.#missing(host);
    const node = this.#state.nodeOf(host, network);
    if (node === undefined) return refused(500, `host not part of the network ${network}`);
    if (this.#quirks.lateDeletes) node.isLeaving = true;
    else this.#state.takeOut(host, network);
    return ok(null);
  }

  deleteHost(id: string, isForced: boolean): Answer {
    const host = this.#state.hosts.get(id);
    if (host === undefined) return this.#missing(id);
    if (!isForced && this.#state.live().some((node) => node.host === id))
      return refused(500, 'host still has associated nodes');
    this.#state.dropHost(id);
    return ok({ id, name: host.name });
  }

  /** Of a network; of all when it is empty. */
  nodes(network: string): Answer {
    if (network !== '' && !this.#state.networks.has(network)) return this.#missing(network);
    const nodes = [...this.#state.nodes.values()];
    return this.#list(
      nodes.filter((node) => network === '' || node.network === network).map((node) => this.#nodeView(node)),
    );
  }

  /** Of a network; of all when it is empty. */
  names(network: string, isCustom: boolean): Answer {
    const shown = (of: string): object[] => [
      ...(isCustom ? [] : this.#hostNames(of)),
      ...this.#state.namesIn(of).map((entry) => this.#nameView(entry)),
    ];
    return this.#list((network === '' ? [...this.#state.networks.keys()] : [network]).flatMap(shown));
  }

  makeName(network: string, body: Asked['body']): Answer {
    const name = String(body['name']);
    if (!this.#state.networks.has(network)) return invalid('DNSEntry.Network', 'network_exists');
    if (
      !/^[A-Za-z0-9-.]+$/u.test(name) ||
      this.#state.namesIn(network).some((entry) => this.#behind(entry.name) === name)
    )
      return invalid('DNSEntry.Name', 'name_unique');
    this.#state.dns(network, name, String(body['address']), String(body['address6']));
    return ok({ name, network });
  }

  deleteName(network: string, shown: string): Answer {
    const suffix = this.#behind('');
    const name = suffix !== '' && shown.endsWith(suffix) ? shown.slice(0, -suffix.length) : shown;
    return this.#state.names.delete(`${name}.${network}`) ? ok(`${shown}.${network} deleted.`) : this.#missing(shown);
  }

  server(what: string): Answer {
    return what === 'getserverinfo'
      ? ok({ Version: 'v1.0.0', DefaultDomain: this.#quirks.domain })
      : ok({ db_connected: true, broker_connected: true, license_error: '', is_pro: false });
  }

  keys(): Answer {
    return this.#list([...this.#state.keys.values()].map(keyView));
  }

  makeKey(body: Asked['body']): Answer {
    const [networks, tags] = [body['networks'] as string[], body['tags'] as string[]];
    if (tags.some((tag) => tag.length < 3 || tag.length > 32))
      return refused(400, 'validation error: name length must be between 3 and 32');
    if ([...this.#state.keys.values()].some((key) => key.tags.some((tag) => tags.includes(tag))))
      return refused(400, 'key names must be unique');
    return ok(keyView(this.#state.key({ networks, tags, unlimited: body['unlimited'] === true, default: false })));
  }

  /** A machine's client enters the networks of a token. */
  register(token: string, body: Asked['body']): Answer {
    const { value } = JSON.parse(Buffer.from(token, 'base64').toString() || '{}') as { value?: string };
    const key = this.#state.keys.get(value ?? '');
    if (key === undefined) return refused(400, 'invalid enrollment key');
    const id = String(body['id']);
    if (!this.#state.hosts.has(id)) this.#state.host(String(body['name']), false, id);
    for (const network of key.networks)
      if (this.#state.networks.has(network) && this.#state.nodeOf(id, network) === undefined)
        this.#state.put(id, network);
    return ok({ server_config: {}, requested_host: { id } });
  }

  #list(entries: readonly unknown[]): Answer {
    return ok(entries.length === 0 && this.#quirks.nullLists ? null : entries);
  }

  #missing(what: string): Answer {
    return refused(this.#quirks.missing, `${what}: could not find any records`);
  }

  #behind(name: string): string {
    return this.#quirks.domain === '' ? name : `${name}.${this.#quirks.domain}`;
  }

  #nameView(entry: StoredName): StoredName {
    return { ...entry, name: this.#behind(entry.name) };
  }

  #hostNames(network: string): StoredName[] {
    return this.#state
      .live()
      .filter((node) => node.network === network)
      .map((node) => ({
        name: this.#behind(`${this.#state.hosts.get(node.host)?.name ?? ''}.${network}`),
        network,
        address: this.#state.addressOf(node, 4),
        address6: this.#state.addressOf(node, 6),
      }));
  }

  #nodeView(node: StoredNode): object {
    return {
      id: node.id,
      hostid: node.host,
      network: node.network,
      address: `${this.#state.addressOf(node, 4)}/24`,
      address6: `${this.#state.addressOf(node, 6)}/64`,
      pendingdelete: node.isLeaving,
      connected: true,
      lastcheckin: Math.floor(node.lastCheckInMs / 1_000),
      tags: null,
      is_static: false,
      ...(this.#quirks.saysStatus ? { status: node.isConnected ? 'online' : 'offline' } : {}),
    };
  }
}

function keyView(key: StoredKey): object {
  return {
    ...key,
    token: Buffer.from(JSON.stringify({ server: 'api.nm.test', value: key.value })).toString('base64'),
    expiration: '0001-01-01T00:00:00Z',
    uses_remaining: 0,
    type: 3,
    groups: null,
    relay: '00000000-0000-0000-0000-000000000000',
  };
}
