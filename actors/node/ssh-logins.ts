/** SSH logins at a node: whether one is let in, and what is told of it. */
import type { SessionId } from '../../transport/protocol/ids.ts';
import type { SshGrant, SshVerdict } from '../../transport/protocol/ssh.ts';
import type { DomainEvent } from '../event-catalogue.ts';
import { eventIdOf } from '../event-id.ts';
import { type Change, type Effect, type Step, step, unchanged } from '../step.ts';
import { instant } from '../resources/instant.ts';
import {
  type SshOutcome,
  type SshSession,
  type SshTried,
  refundAttempt,
  SSH_ATTEMPTS_VERIFYING_MAX,
  SSH_DECIDED_MS_MAX,
  SSH_UNANSWERED_MS_MAX,
  takeAttempt,
  takeRefusal,
  withGrants,
} from '../ssh/login-attempts.ts';
import type { Write } from '../writes.ts';
import type { MessageOf } from './messages.ts';
import type { LiveSession, NodeState } from './state.ts';
import { end } from './ssh-usernames.ts';

type Verified = Extract<Write, { kind: 'ssh-verified' }>;

/**
 * Somebody tries to log in: the rows are asked, unless it is one of too many. An attempt that is asked about twice has
 * one verdict.
 */
export function attempted(
  state: NodeState,
  session: LiveSession,
  { attempt, username, credential }: MessageOf<'ssh-attempted'>,
  nowMs: number,
): Step<NodeState> {
  const { attempts } = session.ssh;
  if (attempts.has(attempt)) return unchanged(state);
  const { isTaken, allowance } =
    attempts.size < SSH_ATTEMPTS_VERIFYING_MAX
      ? takeAttempt(state.sshAllowance, nowMs)
      : { isTaken: false, allowance: state.sshAllowance };
  const isProbe = credential.method === 'public_key' && credential.signature === 'none';
  const next = { ...state, sshAllowance: allowance };
  if (!isTaken) return limited(next, session, attempt, isProbe ? null : { username, method: credential.method }, nowMs);
  const more = new Map(attempts).set(attempt, { username, method: credential.method, isProbe, atMs: nowMs });
  return step(
    inSession(next, session, { ...session.ssh, attempts: more }),
    [],
    [{ type: 'verify-ssh', session: session.id, attempt, username, credential }],
  );
}

/**
 * One of too many: refused at once, and an event all the same, as far as those are not too many themselves. `tried` is
 * null for a mere question.
 */
function limited(
  state: NodeState,
  session: LiveSession,
  attempt: number,
  tried: SshTried | null,
  nowMs: number,
): Step<NodeState> {
  const effects: readonly Effect[] = [verdict(session.id, attempt, null), { type: 'limit-ssh' }];
  if (tried === null) return step(state, [], effects);
  const { isTaken, allowance } = takeRefusal(state.sshAllowance, nowMs);
  const next = { ...state, sshAllowance: allowance };
  if (!isTaken) return step(next, [], effects);
  return step(
    next,
    [{ ...judged(state, { session: session.id, attempt, tried, outcome: UNKNOWN, atMs: nowMs }), onceStored: [] }],
    effects,
  );
}

/**
 * Logins that the agent refused while no admin answered: each is an event of the time when it was tried, and confirmed
 * once that is stored. One whose confirmation was lost is told of again, under the same id.
 */
export function unansweredReported(
  state: NodeState,
  session: LiveSession,
  { logins }: MessageOf<'ssh-unanswered-reported'>,
  nowMs: number,
): Step<NodeState> {
  let { sshAllowance } = state;
  const changes: Change[] = [];
  const untold: string[] = [];
  for (const { id, username, method, ms_ago: msAgo } of logins) {
    const told = takeRefusal(sshAllowance, nowMs);
    sshAllowance = told.allowance;
    if (!told.isTaken) {
      untold.push(id);
      continue;
    }
    const atMs = nowMs - Math.min(msAgo, SSH_UNANSWERED_MS_MAX);
    const tried = { username, method };
    const change = judged(state, { session: session.id, attempt: 0, tried, outcome: UNKNOWN, atMs });
    const eventId = eventIdOf(state.record.id, id);
    changes.push({
      ...change,
      events: change.events.map((event) => ({ ...event, id: eventId })),
      onceStored: [stored(session, [id])],
    });
  }
  return step({ ...state, sshAllowance }, changes, untold.length === 0 ? [] : [stored(session, untold)]);
}

function stored(session: LiveSession, ids: readonly string[]): Effect {
  return { type: 'send', session: session.id, frame: { type: 'ssh-unanswered-stored', ids: [...ids] } };
}

/** Nobody looked whether there is such a user. */
const UNKNOWN: SshOutcome = { sshUsername: null, grant: null };

/**
 * What the rows say of an attempt. It is stored as an event first, and the agent hears of it then: a yes together with
 * a last look at the rows, so that a login that races a deletion is refused. A probe that would do is no login yet. Of
 * an outcome that is not known, and could not be stored either, nothing is said: the agent refuses by itself when it
 * has waited for long enough.
 */
export function verified(
  state: NodeState,
  session: LiveSession,
  { attempt, outcome }: MessageOf<'ssh-verified'>,
  nowMs: number,
): Step<NodeState> {
  const tried = session.ssh.attempts.get(attempt);
  if (tried === undefined) return unchanged(state);
  const attempts = new Map(session.ssh.attempts);
  attempts.delete(attempt);
  const ssh = { ...session.ssh, attempts };
  if (outcome === null) return step(inSession(state, session, ssh), []);
  if (tried.isProbe && outcome.grant !== null)
    return step(inSession(state, session, ssh), [], [verdict(session.id, attempt, outcome.grant)]);
  const final = nowMs - tried.atMs > SSH_DECIDED_MS_MAX ? { ...outcome, grant: null } : outcome;
  const next =
    final.grant === null
      ? inSession(state, session, ssh)
      : inSession(
          { ...state, sshAllowance: refundAttempt(state.sshAllowance, tried.method) },
          session,
          withGrants(ssh, [final.grant]),
        );
  return step(next, [judged(state, { session: session.id, attempt, tried, outcome: final, atMs: nowMs })]);
}

/** The username or the key went while the login was verified. */
export function loginRefused(
  state: NodeState,
  { session, attempt, tried, sshUsername, atMs }: Verified,
): Step<NodeState> {
  return step(state, [judged(state, { session, attempt, tried, outcome: { sshUsername, grant: null }, atMs })]);
}

/** An agent that comes back has sessions of its own: those whose username or key went meanwhile are looked for. */
export function grantsReported(
  state: NodeState,
  session: LiveSession,
  { grants }: MessageOf<'ssh-grants-reported'>,
): Step<NodeState> {
  return step(
    inSession(state, session, withGrants(session.ssh, grants)),
    [],
    [{ type: 'check-ssh-grants', session: session.id, grants }],
  );
}

/**
 * After a write of this node that may have been stored or not, nobody knows what it removed: all that may have opened a
 * session is looked for.
 */
export function grantRecoveryEffects({ session }: NodeState): readonly Effect[] {
  return session === null || session.ssh.grants.size === 0
    ? []
    : [{ type: 'check-ssh-grants', session: session.id, grants: [...session.ssh.grants.values()] }];
}

/** Ends the sessions that were opened by what is gone. */
export function grantsChecked(
  state: NodeState,
  { sshUsernames, sshPublicKeys }: MessageOf<'ssh-grants-checked'>,
): Step<NodeState> {
  return sshUsernames.length + sshPublicKeys.length === 0
    ? unchanged(state)
    : step(state, [], end(state, sshUsernames, sshPublicKeys));
}

function inSession(state: NodeState, session: LiveSession, ssh: SshSession): NodeState {
  return { ...state, session: { ...session, ssh } };
}

interface Judgement {
  readonly session: SessionId;
  readonly attempt: number;
  readonly tried: SshTried;
  readonly outcome: SshOutcome;
  readonly atMs: number;
}

function judged(state: NodeState, { session, attempt, tried, outcome, atMs }: Judgement): Change {
  const { sshUsername, grant } = outcome;
  const write: Verified = {
    kind: 'ssh-verified',
    node: state.record.id,
    session,
    attempt,
    tried: { username: tried.username, method: tried.method },
    sshUsername,
    grant,
    atMs,
  };
  return {
    write,
    events: [verifiedEvent(state, tried, outcome, atMs)],
    notices: [{ type: 'events-stored' }],
    onceStored: [verdict(session, attempt, grant)],
  };
}

/** Source: docs/events.md. */
function verifiedEvent(
  { record }: NodeState,
  { username, method }: SshTried,
  { sshUsername, grant }: SshOutcome,
  atMs: number,
): DomainEvent {
  const isKnown = sshUsername !== null;
  return {
    type: 'edge.ssh_username.verified',
    subject: record.id,
    atMs,
    data: {
      ssh_username_id: sshUsername,
      node_id: record.id,
      // What a client typed may be no text at all: a NUL or half a character, which not every reader of the event could
      // take.
      username: username.toWellFormed().replaceAll('\0', '\uFFFD'),
      cluster_name: isKnown ? record.clusterName : null,
      auth_method: isKnown ? method : 'unknown',
      result: grant === null ? 'failure' : 'success',
      verified_at: instant(atMs),
    },
  };
}

function verdict(session: SessionId, attempt: number, grant: SshGrant | null): Effect {
  const answer: SshVerdict = grant === null ? { accepted: false } : { accepted: true, grant };
  return { type: 'send', session, frame: { type: 'ssh-verdict', attempt, verdict: answer } };
}
