/** SSH usernames: who may log in to a node. */
import { z } from 'zod';
import { refuse, type Refusal } from '../../actors/refusal.ts';
import { SshUsernameResource } from '../../actors/resources/ssh.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { NodeIdInput, storableText } from '../inputs/inputs.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { ownerOfNode } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { publicKeyRecord, publicKeys } from '../inputs/ssh-inputs.ts';
import { askNode } from './nodes.ts';

/** Bounds of a username. Source: docs/api.md, Resources. The pattern is that of useradd. */
const USERNAME_CHARS_MIN = 3;
const USERNAME_CHARS_MAX = 32;
const USERNAME = /^[a-z_][a-z0-9_-]*$/u;
const PASSWORD_CHARS_MIN = 12;
const PASSWORD_CHARS_MAX = 128;

/** Keys that may come with a username. It can have no more later either. */
const PUBLIC_KEYS_MAX = 64;

const TOO_MANY_PASSWORDS: Refusal = {
  code: 'service_unavailable',
  message: 'Too many passwords are being checked. Try again shortly.',
  retryAfterSeconds: 2,
};

export const create_ssh_username = operation({
  name: 'create_ssh_username',
  kind: 'mutation',
  summary: 'Let somebody log in to a node by SSH, with keys, a password, or both. The password is never shown again.',
  rest: { method: 'POST', path: '/nodes/:node_id/ssh_usernames', status: 201 },
  creates: true,
  input: z.strictObject({
    node_id: NodeIdInput,
    username: storableText(USERNAME_CHARS_MAX)
      .min(USERNAME_CHARS_MIN)
      .regex(USERNAME, 'must begin with a-z or _, and have only a-z, 0-9, _ and - then'),
    password: storableText(PASSWORD_CHARS_MAX)
      .min(PASSWORD_CHARS_MIN)
      .nullish()
      .describe('Without one only keys open it.'),
    public_keys: publicKeys(PUBLIC_KEYS_MAX).nullish().describe('Keys can be added later as well.'),
  }),
  output: SshUsernameResource,
  ownedBy: ({ node_id: id }) => ({ kind: 'node', id }),
  handle: async ({ node_id, username, password, public_keys: given }, call) => {
    const { ports, idempotency } = call;
    const hasPassword = typeof password === 'string';
    const passwordHash = hasPassword ? await ports.passwords.hash(password) : null;
    if (hasPassword && passwordHash === null) return { ok: false, refusal: TOO_MANY_PASSWORDS };
    const id = ports.newId();
    const keys = (given ?? []).map((key) => publicKeyRecord(ports.newId(), key));
    return askNode<SshUsernameResource>(node_id, call, (replyTo) => ({
      type: 'create-ssh-username',
      replyTo,
      username: { id, username, passwordHash, keys },
      idempotency,
    }));
  },
});

export const list_ssh_usernames = operation({
  name: 'list_ssh_usernames',
  kind: 'query',
  summary: 'List SSH usernames, without their keys.',
  rest: { method: 'GET', path: '/ssh_usernames', status: 200 },
  list: true,
  input: listInput('ssh_usernames'),
  output: SshUsernameResource,
  handle: (query, { ports }) => page(ports.reads.list('ssh_usernames', query)),
});

export const get_ssh_username = operation({
  name: 'get_ssh_username',
  kind: 'query',
  summary: 'Get an SSH username with its keys.',
  rest: { method: 'GET', path: '/ssh_usernames/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: SshUsernameResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('ssh_usernames', id)),
});

export const delete_ssh_username = operation({
  name: 'delete_ssh_username',
  kind: 'mutation',
  summary: 'Delete an SSH username with its keys. Sessions that it opened end at once.',
  rest: { method: 'DELETE', path: '/ssh_usernames/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.sshUsernameNode(id)),
  doneWhenMissing: true,
  handle: async ({ id }, call) => {
    const node = await call.ports.reads.sshUsernameNode(id);
    return node === null
      ? refuse('not_found', NOT_FOUND)
      : askNode<null>(node, call, (replyTo) => ({ type: 'delete-ssh-username', replyTo, id }));
  },
});
