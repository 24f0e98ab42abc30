/** Who may log in to a node by SSH: its usernames and their keys. */
import { type Effect, type Step, answer, step } from '../step.ts';
import { ok } from '../refusal.ts';
import { idempotencyRecord } from './administration.ts';
import type { MessageOf } from './messages.ts';
import { sshPublicKeyResource, sshUsernameResource } from './resource.ts';
import type { NodeState } from './state.ts';

/** Adds a username with its keys. A name or key that is taken is refused by its constraint. */
export function createSshUsername(
  state: NodeState,
  { replyTo, username, idempotency }: MessageOf<'create-ssh-username'>,
  nowMs: number,
): Step<NodeState> {
  const resource = sshUsernameResource(username, state.record.id, nowMs);
  const write = { kind: 'ssh-username-created' as const, node: state.record.id, username, atMs: nowMs };
  return step(
    state,
    [{ write, events: [], notices: [], idempotencyRecord: idempotencyRecord(idempotency, resource) }],
    [answer(replyTo, ok(resource))],
  );
}

/** Removes a username with its keys, and ends the sessions that it opened (E5). */
export function deleteSshUsername(
  state: NodeState,
  { replyTo, id }: MessageOf<'delete-ssh-username'>,
): Step<NodeState> {
  const write = { kind: 'ssh-username-deleted' as const, node: state.record.id, id };
  return step(state, [{ write, events: [], notices: [] }], [...end(state, [id], []), answer(replyTo, ok(null))]);
}

/** Adds a key to a username. */
export function createSshPublicKey(
  state: NodeState,
  { replyTo, sshUsername, key, idempotency }: MessageOf<'create-ssh-public-key'>,
  nowMs: number,
): Step<NodeState> {
  const resource = sshPublicKeyResource(key, sshUsername, nowMs);
  const write = { kind: 'ssh-public-key-created' as const, node: state.record.id, sshUsername, key, atMs: nowMs };
  return step(
    state,
    [{ write, events: [], notices: [], idempotencyRecord: idempotencyRecord(idempotency, resource) }],
    [answer(replyTo, ok(resource))],
  );
}

/** Removes a key, and ends the sessions that it opened (E5). */
export function deleteSshPublicKey(
  state: NodeState,
  { replyTo, id }: MessageOf<'delete-ssh-public-key'>,
): Step<NodeState> {
  const write = { kind: 'ssh-public-key-deleted' as const, node: state.record.id, id };
  return step(state, [{ write, events: [], notices: [] }], [...end(state, [], [id]), answer(replyTo, ok(null))]);
}

/** Ends the sessions that were opened by these usernames and keys. */
export function end({ session }: NodeState, usernames: readonly string[], keys: readonly string[]): readonly Effect[] {
  return session === null
    ? []
    : [
        {
          type: 'send',
          session: session.id,
          frame: { type: 'end-ssh', ssh_username_ids: [...usernames], ssh_public_key_ids: [...keys] },
        },
      ];
}
