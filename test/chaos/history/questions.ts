/** How a request is asked over REST, and what its answer says. */
import { NOT_KNOWN } from '../../../actors/refusal.ts';
import { unreachable } from '../../../actors/step.ts';
import type { Answer, Sent } from '../../support/fleet/rest.ts';
import type { Named, Outcome, Request, Resource, Shown } from './history.ts';

/** What is sent. */
export interface Question extends Sent {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
}

/** How one kind is asked for. */
interface Form {
  readonly path: string;
  readonly many: string;
  /** Its name in lists; null: it is asked for by name. */
  readonly filter: ((of: Named) => Readonly<Record<string, string>>) | null;
  /** What is created, but for a command, whose body is given. */
  readonly body: (of: Named, value: string | null) => object;
  readonly shown: (row: Readonly<Record<string, unknown>>) => Shown;
}

const count = (value: string | null): number | null => (value === null ? null : Number(value));
const words = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;
const plain = (row: Readonly<Record<string, unknown>>, value: unknown = null): Shown => ({
  id: String(row['id']),
  value: words(value),
  node: words(row['node_id']),
});

const FORMS: Readonly<Record<Resource, Form>> = {
  cluster: {
    path: '/clusters',
    many: 'clusters',
    filter: null,
    body: ({ name }, value) => ({ name, node_limit: count(value) }),
    shown: (row) => plain(row, row['node_limit']),
  },
  group: {
    path: '/groups',
    many: 'groups',
    filter: null,
    body: ({ name }, value) => ({ name, description: value, targeting: { type: 'all' } }),
    shown: (row) => plain(row, row['description']),
  },
  alias: {
    path: '/aliases',
    many: 'aliases',
    filter: ({ name, scope }) => ({ name, cluster_name: scope }),
    body: ({ name }) => ({ name }),
    shown: (row) => plain(row),
  },
  ssh_username: {
    path: '/ssh_usernames',
    many: 'ssh_usernames',
    filter: ({ name, scope }) => ({ username: name, node_id__in: scope }),
    body: ({ name }) => ({ username: name }),
    shown: (row) => plain(row),
  },
  enrollment_key: {
    path: '/enrollment_keys',
    many: 'enrollment_keys',
    filter: ({ name }) => ({ name }),
    body: ({ name }, value) => ({ name, uses_remaining: count(value) }),
    shown: (row) => plain(row, row['uses_remaining']),
  },
  command: {
    path: '/commands',
    many: 'commands',
    filter: ({ name }) => ({ command_text: `echo ${name} *` }),
    body: () => ({}),
    shown: (row) => plain(row),
  },
  webhook: {
    path: '/webhooks',
    many: 'webhooks',
    filter: ({ name }) => ({ url: webhookUrl(name) }),
    body: ({ name }) => ({
      url: webhookUrl(name),
      secret: 'a-secret-of-the-receiver-with-32-characters',
      subscribed_events: ['edge.self_update_request.completed'], // which never comes
    }),
    shown: (row) => plain(row),
  },
};

/** Nobody listens there, and nothing is sent there. */
function webhookUrl(name: string): string {
  return `http://127.0.0.1:44999/${name}`;
}

/** How it is asked. `body`: of a command or an enrolment, which say more than a history keeps. */
export function questionOf(request: Request, body?: object): Question {
  switch (request.verb) {
    case 'create':
      return created(request, body);
    case 'show': {
      const { path, many, filter } = FORMS[request.resource];
      if (filter === null)
        return { operation: `get_${request.resource}`, method: 'GET', path: `${path}/${request.name}` };
      return {
        operation: `list_${many}`,
        method: 'GET',
        path: `${path}?${new URLSearchParams(filter(request)).toString()}`,
      };
    }
    case 'update':
      return {
        operation: `update_${request.resource}`,
        method: 'PATCH',
        path: pathOf(request, request.id),
        body: valueOf(request.resource, request.value),
      };
    case 'delete':
      return { operation: `delete_${request.resource}`, method: 'DELETE', path: pathOf(request, request.id) };
    case 'cancel':
      return { operation: 'cancel_command', method: 'POST', path: `${pathOf(request, request.id)}/cancel` };
    case 'enrol':
      return {
        operation: request.recovery === null ? 'enrol' : 'recover',
        method: 'POST',
        path: '/agents/enroll',
        body,
      };
    case 'show-node':
      return { operation: 'get_node', method: 'GET', path: `/nodes/${request.node}` };
    case 'delete-node':
      return { operation: 'delete_node', method: 'DELETE', path: `/nodes/${request.node}` };
    case 'move':
      return {
        operation: 'change_node_cluster',
        method: 'POST',
        path: `/nodes/${request.node}/change_cluster`,
        body: { cluster_name: request.cluster },
      };
    case 'set-recovery':
      return { operation: 'create_node_recovery_key', method: 'POST', path: `/nodes/${request.node}/recovery_key` };
    case 'clear-recovery':
      return { operation: 'delete_node_recovery_key', method: 'DELETE', path: `/nodes/${request.node}/recovery_key` };
    case 'label': {
      const path = `/nodes/${request.node}/labels`;
      return request.value === null
        ? { operation: 'remove_node_label', method: 'DELETE', path: `${path}/${request.label}` }
        : { operation: 'set_node_labels', method: 'PATCH', path, body: { labels: { [request.label]: request.value } } };
    }
    default:
      return unreachable(request);
  }
}

function created(request: Extract<Request, { verb: 'create' }>, body: object | undefined): Question {
  const { resource, scope, node, key, value } = request;
  const form = FORMS[resource];
  const below =
    resource === 'enrollment_key'
      ? `/clusters/${scope}`
      : node === null || resource === 'command'
        ? ''
        : `/nodes/${node}`;
  return {
    operation: `create_${resource}`,
    method: 'POST',
    path: `${below}${form.path}`,
    body: body ?? form.body(request, value),
    headers: { 'idempotency-key': key },
  };
}

function pathOf({ resource, name }: Named, id: string | null): string {
  return `${FORMS[resource].path}/${id ?? name}`;
}

function valueOf(resource: Resource, value: string | null): object {
  if (resource === 'cluster') return { node_limit: count(value) };
  return resource === 'group' ? { description: value } : { uses_remaining: count(value) };
}

/** What it says. */
export function outcomeOf(request: Request, { status, data, error, text }: Answer<unknown>): Outcome {
  if (status < 300) return done(request, status, data);
  if (status === 404 && request.verb === 'show') return { type: 'ok', status, shown: [] };
  if (status === 404 && request.verb === 'show-node') return { type: 'ok', status, node: null };
  const { code = 'none', message: why = text } = error ?? {};
  if (status === 503 && why.startsWith(NOT_KNOWN)) return { type: 'doubt', why: `503: ${why}` };
  return { type: status >= 500 || status === 429 ? 'unavailable' : 'refused', status, code, why };
}

/** In place of the status of an answer: nobody listened, nothing was asked. */
export const UNREACHED = 0;

/** What it means that there was no answer. A connection that was never made carried nothing. */
export function lost(error: unknown): Outcome {
  const cause = (error as Error).cause as { readonly code?: string } | undefined;
  const why = cause?.code ?? (error as Error).name;
  return why === 'ECONNREFUSED'
    ? { type: 'unavailable', status: UNREACHED, code: 'unreached', why }
    : { type: 'doubt', why };
}

function done(request: Request, status: number, data: unknown): Outcome {
  const rows = (Array.isArray(data) ? data : data == null ? [] : [data]) as Readonly<Record<string, unknown>>[];
  const [first] = rows;
  if (request.verb === 'create' || request.verb === 'show')
    return { type: 'ok', status, shown: rows.map((row) => FORMS[request.resource].shown(row)) };
  if (request.verb === 'show-node')
    return {
      type: 'ok',
      status,
      node: {
        cluster: String(first?.['cluster_name']),
        labels: first?.['labels'] as Readonly<Record<string, string>>,
      },
    };
  if (request.verb === 'set-recovery') return { type: 'ok', status, secret: String(first?.['recovery_key']) };
  if (request.verb === 'enrol') return { type: 'ok', status, secret: String(first?.['api_token']) };
  return { type: 'ok', status };
}
