/** Frames as messages: what agents say to their nodes, and what agents of an older version are told. Pure. */
import type { Hello, NodeMessage } from '../../actors/node/messages.ts';
import type { AgentFrame, AdminFrameBody } from '../protocol/frames.ts';
import type { NodeId, SessionId } from '../protocol/ids.ts';
import {
  PROTOCOL_VERSION,
  PROTOCOL_VERSION_MIN,
  PROTOCOL_VERSION_RECALLS,
  PROTOCOL_VERSION_VPN,
  PROTOCOL_VERSION_REACH,
  PROTOCOL_VERSION_TRACES,
  PROTOCOL_VERSION_UPDATES,
} from '../protocol/version.ts';

/** Frames that the session itself answers, or hands to who listens. */
export type SessionFrame = Extract<AgentFrame, { type: 'ping' | 'tail-output' | 'refresh-settings' }>;

/** Why an agent that says this hello for this node is not let in; null: it is. */
export function problemOf({ protocol, node }: Extract<AgentFrame, { type: 'hello' }>, expected: NodeId): string | null {
  if (protocol < PROTOCOL_VERSION_MIN)
    return `protocol ${protocol} is too old: this admin speaks ${PROTOCOL_VERSION_MIN} to ${PROTOCOL_VERSION}`;
  return node === expected ? null : 'the token belongs to another node';
}

/** By which session something was said: from which address it comes, and which admin passes it on, if any. */
export interface SessionWay {
  readonly id: SessionId;
  readonly remoteAddress: string | null;
  readonly relayedBy: string | null;
}

/** The message for the node. It came at `atMs`, in Unix ms. */
export function nodeMessageOf(
  frame: Exclude<AgentFrame, SessionFrame>,
  { id: session, remoteAddress: from, relayedBy }: SessionWay,
  atMs: number,
): NodeMessage {
  switch (frame.type) {
    case 'hello':
      return {
        type: 'agent-connected',
        session,
        ...(relayedBy !== null && { relayedBy }),
        hello: helloOf(frame),
      };
    case 'report':
      return { type: 'agent-reported', session, report: frame.report };
    case 'facts-changed':
      return { type: 'facts-changed', session, facts: frame.facts };
    case 'acknowledge':
      return { type: 'executions-acknowledged', session, executions: frame.executions, atMs };
    case 'ask-open':
      return { type: 'executions-asked', session, ask: frame.ask, executions: frame.executions };
    case 'result':
      return { type: 'results-arrived', session, results: frame.results };
    case 'output-part':
      return { type: 'output-part-arrived', session, execution: frame.execution, part: frame.part, text: frame.text };
    case 'verify-ssh':
      return {
        type: 'ssh-attempted',
        session,
        attempt: frame.attempt,
        username: frame.username,
        credential: frame.credential,
      };
    case 'ssh-grants':
      return { type: 'ssh-grants-reported', session, grants: frame.grants };
    case 'ssh-unanswered':
      return { type: 'ssh-unanswered-reported', session, logins: frame.logins };
    case 'mesh-advertise':
      return { type: 'vpn-advertised', session, advertisement: frame.advertisement, from };
    case 'mesh-try':
      return { type: 'direct-wanted', session, publicKey: frame.public_key };
    case 'mesh-report':
      return { type: 'vpn-reported', session, report: frame.report };
    case 'update-answer':
    case 'update-outcome':
      return updateMessageOf(frame, session);
    default:
      throw new Error(`no such frame: ${JSON.stringify((frame satisfies never as { type: string }).type)}`);
  }
}

/** What an agent says of its updater. */
function updateMessageOf(
  frame: Extract<AgentFrame, { type: 'update-answer' | 'update-outcome' }>,
  session: SessionId,
): NodeMessage {
  if (frame.type === 'update-answer') {
    const error = frame.accepted ? null : (frame.error ?? 'the agent gave no reason');
    return { type: 'update-answered', session, request: frame.request, error };
  }
  const { seq: _seq, type: _type, ...outcome } = frame;
  return { type: 'update-ended', session, outcome };
}

function helloOf({ registration, report, holding, protocol }: Extract<AgentFrame, { type: 'hello' }>): Hello {
  return {
    registration,
    report,
    holding,
    recalls: protocol >= PROTOCOL_VERSION_RECALLS,
    updates: protocol >= PROTOCOL_VERSION_UPDATES,
  };
}

/** Frames that an agent of an older version would take for a broken peer. */
const VPN_FRAMES: ReadonlySet<AdminFrameBody['type']> = new Set([
  'mesh-network',
  'mesh-changed',
  'mesh-refused',
  'mesh-observed',
  'mesh-try',
  'netmaker-join',
]);
const UPDATES: ReadonlySet<AdminFrameBody['type']> = new Set(['update', 'update-outcome-stored']);
const REACH: ReadonlySet<AdminFrameBody['type']> = new Set(['open-tunnel', 'ssh-verdict', 'end-ssh']);

/** Whether an agent that speaks this version knows such frames. */
export function isKnownTo(protocol: number, { type }: AdminFrameBody): boolean {
  return (
    (protocol >= PROTOCOL_VERSION_REACH || !REACH.has(type)) &&
    (protocol >= PROTOCOL_VERSION_UPDATES || !UPDATES.has(type)) &&
    (protocol >= PROTOCOL_VERSION_VPN || !VPN_FRAMES.has(type))
  );
}

/** The frame as an agent of this version knows it. */
export function asKnownTo(protocol: number, frame: AdminFrameBody): AdminFrameBody {
  if (frame.type === 'welcome') return frame.protocol <= protocol ? frame : { ...frame, protocol };
  if (frame.type !== 'deliver' || protocol >= PROTOCOL_VERSION_TRACES) return frame;
  return { ...frame, deliveries: frame.deliveries.map(({ traceparent: _traceparent, ...delivery }) => delivery) };
}
