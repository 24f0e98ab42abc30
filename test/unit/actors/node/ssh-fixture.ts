/** SSH logins at a node, as its agent asks about them. */
import type { Effect, Step } from '../../../../actors/step.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import type { SshOutcome } from '../../../../actors/ssh/login-attempts.ts';
import type { SshCredential } from '../../../../transport/protocol/ssh.ts';
import { id, session } from '../../../support/actors.ts';
import { say } from './fixture.ts';

/** The name of somebody who logs in. */
export const USERNAME = id('a', 9);

/** Their key. */
export const KEY = id('a', 10);

/** What lets them in. */
export const GRANT = { ssh_username_id: USERNAME, ssh_public_key_id: KEY };

/** The outcome of a good login. */
export const YES: SshOutcome = { sshUsername: USERNAME, grant: GRANT };

/** The outcome that the rows could not tell. */
export const UNKNOWN: SshOutcome = { sshUsername: null, grant: null };

/** An attempt with a key. */
export const key = (signature: 'none' | 'verified' | 'wrong'): SshCredential => ({
  method: 'public_key',
  blob: 'QUJD',
  signature,
});

/** The message of an agent that asks about attempts. */
export const attempted = (attempt: number, credential: SshCredential = key('verified'), of = 1): NodeMessage => ({
  type: 'ssh-attempted',
  session: session(of),
  attempt,
  username: 'ada',
  credential,
});

/** The message that tells what came of an attempt. */
export const verified = (attempt: number, outcome: SshOutcome | null, of = 1): NodeMessage => ({
  type: 'ssh-verified',
  session: session(of),
  attempt,
  outcome,
});

/** The node after these messages. */
export function after(state: NodeState, ...messages: readonly NodeMessage[]): Step<NodeState> {
  let last: Step<NodeState> = { state, changes: [], effects: [] };
  for (const message of messages) last = say(last.state, message);
  return last;
}

/** What the agent is told, in its order. */
export function verdicts(effects: readonly Effect[]): readonly unknown[] {
  return effects.flatMap((effect) =>
    effect.type === 'send' && effect.frame.type === 'ssh-verdict'
      ? [[effect.session, effect.frame.attempt, effect.frame.verdict.accepted]]
      : [],
  );
}

/** What the agent is told. */
export function said(data: unknown): Readonly<Record<string, unknown>> {
  return data as Readonly<Record<string, unknown>>;
}
