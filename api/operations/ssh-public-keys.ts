/** SSH public keys: with what somebody logs in to a node. */
import { z } from 'zod';
import { refuse } from '../../actors/refusal.ts';
import { SshPublicKeyResource } from '../../actors/resources/ssh.ts';
import { Uuid } from '../../transport/protocol/ids.ts';
import { listInput } from '../inputs/list-input.ts';
import { operation } from '../operation.ts';
import { ownerOfNode } from '../forwarding/owned-by.ts';
import { found, NOT_FOUND, page } from '../reading.ts';
import { PublicKeyInput, publicKeyRecord } from '../inputs/ssh-inputs.ts';
import { askNode } from './nodes.ts';

export const create_ssh_public_key = operation({
  name: 'create_ssh_public_key',
  kind: 'mutation',
  summary: 'Add a public key to an SSH username.',
  rest: { method: 'POST', path: '/ssh_usernames/:id/ssh_public_keys', status: 201 },
  creates: true,
  input: z.strictObject({ id: Uuid, ...PublicKeyInput }),
  output: SshPublicKeyResource,
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.sshUsernameNode(id)),
  handle: async ({ id: sshUsername, ...given }, call) => {
    const node = await call.ports.reads.sshUsernameNode(sshUsername);
    if (node === null) return refuse('not_found', NOT_FOUND);
    const key = publicKeyRecord(call.ports.newId(), given);
    return askNode<SshPublicKeyResource>(node, call, (replyTo) => ({
      type: 'create-ssh-public-key',
      replyTo,
      sshUsername,
      key,
      idempotency: call.idempotency,
    }));
  },
});

export const list_ssh_public_keys = operation({
  name: 'list_ssh_public_keys',
  kind: 'query',
  summary: 'List SSH public keys.',
  rest: { method: 'GET', path: '/ssh_public_keys', status: 200 },
  list: true,
  input: listInput('ssh_public_keys'),
  output: SshPublicKeyResource,
  handle: (query, { ports }) => page(ports.reads.list('ssh_public_keys', query)),
});

export const get_ssh_public_key = operation({
  name: 'get_ssh_public_key',
  kind: 'query',
  summary: 'Get an SSH public key.',
  rest: { method: 'GET', path: '/ssh_public_keys/:id', status: 200 },
  input: z.strictObject({ id: Uuid }),
  output: SshPublicKeyResource,
  handle: ({ id }, { ports }) => found(ports.reads.get('ssh_public_keys', id)),
});

export const delete_ssh_public_key = operation({
  name: 'delete_ssh_public_key',
  kind: 'mutation',
  summary: 'Delete an SSH public key. Sessions that it opened end at once.',
  rest: { method: 'DELETE', path: '/ssh_public_keys/:id', status: 204 },
  input: z.strictObject({ id: Uuid }),
  output: z.null(),
  ownedBy: ({ id }, { reads }) => ownerOfNode(reads.sshPublicKeyNode(id)),
  doneWhenMissing: true,
  handle: async ({ id }, call) => {
    const node = await call.ports.reads.sshPublicKeyNode(id);
    return node === null
      ? refuse('not_found', NOT_FOUND)
      : askNode<null>(node, call, (replyTo) => ({ type: 'delete-ssh-public-key', replyTo, id }));
  },
});
