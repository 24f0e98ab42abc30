/** What a node passes on between its agent and the VPN of its cluster. */
import { take } from '../../transport/net/token-bucket.ts';
import type { Effect, Step } from '../step.ts';
import { step, unchanged } from '../step.ts';
import type { Refusal } from '../refusal.ts';
import type { MessageOf } from './messages.ts';
import type { LiveSession, NodeState } from './state.ts';
import { TRIES } from './vpn-state.ts';

/** Its WireGuard socket was seen from outside. */
export function observed(
  state: NodeState,
  { publicKey, endpoint, isStable }: MessageOf<'vpn-observed'>,
  nowMs: number,
): Step<NodeState> {
  const { vpn, record, session } = state;
  if (vpn?.publicKey !== publicKey || (vpn.observed === endpoint && vpn.isStable === isStable)) return unchanged(state);
  const told: readonly Effect[] =
    session === null
      ? []
      : [{ type: 'send', session: session.id, frame: { type: 'mesh-observed', endpoint, is_stable: isStable } }];
  return step(
    { ...state, vpn: { ...vpn, observed: endpoint, isStable } },
    [
      {
        write: { kind: 'vpn-observed', node: record.id, publicKey, observed: endpoint, isStable, atMs: nowMs },
        events: [],
        notices: [],
      },
    ],
    told,
  );
}

/** The agent wants both sides of a pair to try at once. More than its allowance is not passed on: it asks again. */
export function directWanted(
  state: NodeState,
  { publicKey }: MessageOf<'direct-wanted'>,
  nowMs: number,
): Step<NodeState> {
  const { isTaken, bucket: tries } = take(state.vpnAllowances.tries, TRIES, 1, nowMs);
  const next: NodeState = { ...state, vpnAllowances: { ...state.vpnAllowances, tries } };
  return !isTaken
    ? step(next, [])
    : step(
        next,
        [],
        [
          {
            type: 'tell',
            told: {
              to: { kind: 'cluster', id: state.record.cluster },
              message: { type: 'direct-wanted', node: state.record.id, publicKey },
            },
          },
        ],
      );
}

/** How well the agent is connected with the others. */
export function vpnReported(
  state: NodeState,
  session: LiveSession,
  { report }: MessageOf<'vpn-reported'>,
  nowMs: number,
): Step<NodeState> {
  return step(
    { ...state, session: { ...session, vpn: { ...session.vpn, report: { said: report, atMs: nowMs } } } },
    [],
  );
}

/**
 * The cluster tells its members: the agent hears it if it is there. One that is not asks when it comes. What a cluster
 * says that the node has left comes late, perhaps behind what its own has told it, and would take that from the agent.
 */
export function vpnTold(state: NodeState, { cluster, body }: MessageOf<'vpn-told'>): Step<NodeState> {
  return state.session === null || state.record.cluster !== cluster
    ? unchanged(state)
    : step(state, [], [{ type: 'send', session: state.session.id, frame: body }]);
}

/** The rows did not take what the agent said of itself: it is told why. */
export function vpnRefused(state: NodeState, refusal: Refusal): Step<NodeState> {
  const warning: Effect = {
    type: 'warn',
    message: 'a node was not let into the VPN of its cluster',
    fields: { node: state.record.id, problem: refusal.message },
  };
  return step(
    state,
    [],
    state.session === null
      ? [warning]
      : [
          warning,
          {
            type: 'send',
            session: state.session.id,
            frame: { type: 'mesh-refused', reason: refusal.message.slice(0, 512) },
          },
        ],
  );
}
