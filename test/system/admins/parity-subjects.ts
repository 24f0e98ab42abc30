/**
 * What operations are asked about: things of every kind, made for one call alone or kept, and a value for each field.
 * By the route of an operation and the names of its fields, so that a new one on a kind that is here needs nothing.
 */
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { pathParameters, type AnyOperation } from '../../../api/operation.ts';
import { inputSchema } from '../../../api/schemas.ts';
import type { Input } from '../../support/api/surface-calls.ts';
import { upload } from '../../support/ssh/casts.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import type { Rest } from '../../support/fleet/rest.ts';
import type { ParityReleases } from './parity-releases.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';

/** A thing by the names under which inputs may mean it. */
interface Thing {
  readonly id: string;
  readonly name?: string;
}

/** Where things are made. */
export interface SubjectPorts {
  /** Of the owner, with the master key. */
  readonly rest: Rest;
  readonly ownerUrl: string;
  /** A receiver of webhooks that takes everything. */
  readonly receiverUrl: string;
  /** A node with an agent. */
  readonly liveNode: string;
  readonly releases: ParityReleases;
  /** Name of an admin that owns nothing. */
  readonly idleAdmin: string;
}

/** Beginning of each name that is made up. */
export const MADE_UP = 'parity-';

/** A key that many usernames may have. */
const PUBLIC_KEY = newKey().line;

/** Never published while the test runs. */
const QUIET_EVENT = 'edge.node.update_triggered';

/**
 * Values of fields that name no thing, those of one operation as `operation.field`. Optional fields that are here are
 * given too, where something is changed.
 */
const VALUES: Readonly<Record<string, (subjects: Subjects) => unknown>> = {
  name: (subjects) => subjects.newName(),
  type: () => 'edge.core.test',
  key: () => 'env',
  labels: () => ({ tier: 'web' }),
  set: () => ({ many: 'yes' }),
  targeting: async (subjects) => ({ type: 'nodes', node_ids: [(await subjects.make('nodes')).id] }),
  command_text: () => 'sleep 60',
  timeout: () => 90_000,
  batch_size: () => 2,
  max_failures: () => 1,
  health_timeout: () => 60,
  expired_at: () => '2099-01-01T00:00:00.000Z',
  uses_remaining: () => 3,
  node_limit: () => 100,
  description: () => 'some words',
  username: () => 'ada',
  password: () => 'twelve-or-more',
  key_name: () => 'laptop',
  public_key: () => PUBLIC_KEY,
  url: (subjects) => subjects.ports.receiverUrl,
  secret: () => 'a-secret-of-the-receiver-with-32-characters',
  subscribed_events: () => [QUIET_EVENT],
  version: ({ ports }) => ports.releases.publish(),
  roots: async ({ ports }) => (await ports.releases.signed()).roots,
  timestamp: async ({ ports }) => (await ports.releases.signed()).timestamp,
  snapshot: async ({ ports }) => (await ports.releases.signed()).snapshot,
  targets: async ({ ports }) => (await ports.releases.signed()).targets,
};

/** Things are made of each kind under its part of the path. */
const MAKERS: Readonly<Record<string, (subjects: Subjects) => Promise<Thing>>> = {
  clusters: ({ ports, newName }) => ports.rest.post('/clusters', { name: newName() }),
  enrollment_keys: ({ ports }) => ports.rest.post(`/clusters/${CLUSTER}/enrollment_keys`),
  nodes: async (subjects) => ({ id: (await enrolled(subjects)).node_id }),
  aliases: async (subjects) =>
    subjects.ports.rest.post(`/nodes/${(await subjects.make('nodes')).id}/aliases`, { name: subjects.newName() }),
  groups: ({ ports, newName }) => ports.rest.post('/groups', { name: newName(), targeting: { type: 'all' } }),
  commands: async (subjects) =>
    subjects.ports.rest.post('/commands', {
      command_text: 'sleep 60',
      targeting: { type: 'nodes', node_ids: [(await subjects.make('nodes')).id] },
    }),
  // of a node that is not connected, and so of none: it is completed at once
  self_update_requests: async (subjects) =>
    subjects.ports.rest.post('/self_update_requests', {
      targeting: { type: 'nodes', node_ids: [(await subjects.make('nodes')).id] },
    }),
  command_executions: async (subjects) => {
    const { id } = await subjects.make('commands');
    const [execution] = await subjects.ports.rest.get<readonly Thing[]>(`/command_executions?command_id__in=${id}`);
    return execution ?? { id: 'none' };
  },
  ssh_usernames: async (subjects) =>
    subjects.ports.rest.post(`/nodes/${(await subjects.make('nodes')).id}/ssh_usernames`, { username: 'grace' }),
  ssh_public_keys: async (subjects) =>
    subjects.ports.rest.post(`/ssh_usernames/${(await subjects.make('ssh_usernames')).id}/ssh_public_keys`, {
      key_name: 'laptop',
      public_key: PUBLIC_KEY,
    }),
  ssh_recordings: async (subjects) => upload(subjects.ports.ownerUrl, (await enrolled(subjects)).api_token),
  console_sessions: async ({ ports: { ownerUrl } }) => {
    const answer = await fetch(`${ownerUrl}/console/session`, {
      method: 'POST',
      headers: { origin: ownerUrl, 'content-type': 'application/json' },
      body: JSON.stringify({ key: FLEET_KEYS.API_KEY }),
    });
    return ((await answer.json()) as { readonly data: Thing }).data;
  },
  admins: ({ ports }) => Promise.resolve({ id: ports.idleAdmin, name: ports.idleAdmin }),
  webhooks: ({ ports }) => subscribed(ports, QUIET_EVENT),
  webhook_deliveries: async ({ ports }) => {
    const { id } = await subscribed(ports, 'edge.core.test');
    await ports.rest.post('/events/test');
    const [delivery] = await until('a delivery', async () => {
      const found = await ports.rest.get<readonly Thing[]>(
        `/webhook_deliveries?webhook_id__in=${id}&status__in=delivered`,
      );
      return found.length > 0 ? found : null;
    });
    // No further event comes to it.
    return delivery ?? { id: 'none' };
  },
};

/** What must be so of a thing before an operation can be done with it. */
const PREPARED: Readonly<Record<string, (input: Input, ports: SubjectPorts) => Promise<unknown>>> = {
  delete_command: ({ id }, { rest }) => rest.post(`/commands/${String(id)}/cancel`),
  delete_command_execution: ({ id }, { rest }) => rest.post(`/command_executions/${String(id)}/cancel`),
  delete_node_recovery_key: ({ id }, { rest }) => rest.post(`/nodes/${String(id)}/recovery_key`),
};

/** Makes inputs, and what they are about. */
export class Subjects {
  readonly ports: SubjectPorts;
  readonly #standing = new Map<string, Promise<Thing>>();
  #names = 0;

  constructor(ports: SubjectPorts) {
    this.ports = ports;
  }

  readonly newName = (): string => {
    this.#names += 1;
    return `${MADE_UP}${this.#names}`;
  };

  /** A new thing of a kind. */
  make(kind: string): Promise<Thing> {
    const maker = MAKERS[kind];
    if (maker === undefined) throw new Error(`nobody knows how to make one of ${kind}: add it to MAKERS`);
    return maker(this);
  }

  /**
   * An input with which the operation is done: about things of its own where it changes something. Rejects for a field
   * that must be given and has no value here.
   */
  async inputOf(operation: AnyOperation): Promise<Input> {
    const isQuery = operation.kind === 'query';
    const { properties = {}, required = [] } = inputSchema(operation) as {
      readonly properties?: object;
      readonly required?: readonly string[];
    };
    const fields = isQuery ? required : Object.keys(properties);
    const input: Record<string, unknown> = {};
    for (const field of fields) {
      const value = await this.#valueOf(operation, field);
      if (value !== undefined) input[field] = value;
      else if (required.includes(field)) throw new Error(`${field} has no value: add it to VALUES`);
    }
    await PREPARED[operation.name]?.(input, this.ports);
    return input;
  }

  async #valueOf(operation: AnyOperation, field: string): Promise<unknown> {
    const kind = kindOf(operation, field);
    if (kind === null) return VALUES[field]?.(this);
    const thing = await (operation.kind === 'query' ? this.#keep(kind) : this.make(kind));
    return field.endsWith('name') ? thing.name : thing.id;
  }

  /** One of a kind that nothing changes. A node that is looked at has an agent. */
  #keep(kind: string): Promise<Thing> {
    const kept =
      this.#standing.get(kind) ?? (kind === 'nodes' ? Promise.resolve({ id: this.ports.liveNode }) : this.make(kind));
    this.#standing.set(kind, kept);
    return kept;
  }
}

/** The kind of thing that a field names; null: none. */
function kindOf({ rest }: AnyOperation, field: string): string | null {
  if (rest !== null && pathParameters(rest.path).includes(field)) {
    const parts = rest.path.split('/');
    const kind = parts[parts.indexOf(`:${field}`) - 1] ?? '';
    return (field === 'id' || /(?:^|_)(?:id|name)$/u.test(field)) && kind !== '' ? kind : null;
  }
  return /^(?<one>[a-z_]+)_(?:id|name)$/u.test(field) && field !== 'key_name'
    ? `${field.replace(/_(?:id|name)$/u, '')}s`
    : null;
}

/** Lets a node in whose machine nobody has: nothing of it changes by itself. */
async function enrolled({ ports }: Subjects): Promise<EnrollAnswer> {
  const { key } = await ports.rest.post<EnrollmentKeyResource>(`/clusters/${CLUSTER}/enrollment_keys`, {
    labels: { env: 'prod' },
  });
  return ports.rest.post('/agents/enroll', enrollment(key));
}

function subscribed({ rest, receiverUrl }: SubjectPorts, event: string): Promise<Thing> {
  return rest.post('/webhooks', {
    url: receiverUrl,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: [event],
  });
}
