/**
 * A key that lets somebody in for as long as a terminal: registered before it, deleted after it, by operations of the
 * API and as whoever asked, so that nobody gets what they could not have given themselves. Its private half never
 * leaves the client.
 */
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { CallOperation } from '../call.ts';
import { catalogue } from '../catalogue.ts';
import type { Caller } from '../principals.ts';
import { LEFT_BEHIND_MS, TAKE_BACK_AFTER_MS } from './limits.ts';

/** What such keys are called: with this and when they were made. */
const NAME = 'browser terminal ';
const NAME_OF = new RegExp(String.raw`^${NAME}\d{4}-\d\d-\d\dT[\d:.]+Z$`, 'u');

/** What keys are registered with. */
export interface KeyKit {
  readonly call: CallOperation;
  readonly clock: Clock;
  readonly log: Log;
}

/** Whose terminal it is. */
export interface KeyOwner {
  readonly node: string;
  readonly username: string;
  readonly publicKey: string;
  /** Each call has a request id of its own. */
  readonly caller: () => Caller;
}

/**
 * Registers a key; what comes back deletes it, and tries again where that cannot be now. One that is there already is
 * refused: it goes with the terminal that it was registered for, and would take another one along.
 */
export async function letIn(kit: KeyKit, { node, username, publicKey, caller }: KeyOwner): Promise<Result<() => void>> {
  const { call, clock } = kit;
  const users = await call(catalogue.list_ssh_usernames, { node_id__in: [node], username }, caller());
  if (!users.ok) return users;
  const user = users.value.data.find((one) => one.username === username);
  if (user === undefined) return refuse('not_found', 'This node has no SSH username of this name. Add it first.');
  const known = await call(catalogue.get_ssh_username, { id: user.id }, caller());
  if (!known.ok) return known;
  const nowMs = clock.nowMs();
  for (const { id, key_name: name, inserted_at: at } of known.value.public_keys ?? [])
    if (NAME_OF.test(name) && nowMs - Date.parse(at) > LEFT_BEHIND_MS) takeBack(kit, id, caller);
  const made = await call(
    catalogue.create_ssh_public_key,
    { id: user.id, key_name: `${NAME}${new Date(nowMs).toISOString()}`, public_key: publicKey },
    caller(),
  );
  return made.ok ? ok(() => takeBack(kit, made.value.id, caller)) : made;
}

/** Deletes a key, now or soon. One that stays lets nobody in: its private half went with its page. */
function takeBack({ call, clock, log }: KeyKit, id: string, caller: () => Caller, tries = 0): void {
  const again = TAKE_BACK_AFTER_MS[tries];
  if (again === undefined)
    return log.warn({ problem: `the key ${id} could not be deleted` }, 'a key of a terminal stays behind');
  const attempt = async (): Promise<void> => {
    const deleted = await call(catalogue.delete_ssh_public_key, { id }, caller());
    if (!deleted.ok && deleted.refusal.code !== 'not_found') takeBack({ call, clock, log }, id, caller, tries + 1);
  };
  clock.after(again, () => void attempt());
}
