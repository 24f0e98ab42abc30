/** What agents say, as messages to their nodes: pure. */
import type { NodeMessage } from '../../actors/node/messages.ts';
import type { AgentFrame } from '../protocol/frames.ts';
import type { SessionId } from '../protocol/ids.ts';
import { PROTOCOL_VERSION_RECALLS } from '../protocol/version.ts';

/** Frames that the session itself answers, or hands to who listens. */
export type SessionFrame = Extract<AgentFrame, { type: 'ping' | 'tail-output' | 'refresh-settings' }>;

/** The message for the node. `from`: the address that the session comes from. */
export function nodeMessageOf(
  frame: Exclude<AgentFrame, SessionFrame>,
  session: SessionId,
  from: string | null,
): NodeMessage {
  switch (frame.type) {
    case 'hello':
      return {
        type: 'agent-connected',
        session,
        hello: {
          registration: frame.registration,
          report: frame.report,
          holding: frame.holding,
          recalls: frame.protocol >= PROTOCOL_VERSION_RECALLS,
        },
      };
    case 'report':
      return { type: 'agent-reported', session, report: frame.report };
    case 'acknowledge':
      return { type: 'executions-acknowledged', session, executions: frame.executions };
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
      return { type: 'mesh-advertised', session, advertisement: frame.advertisement, from };
    case 'mesh-try':
      return { type: 'direct-wanted', session, publicKey: frame.public_key };
    case 'mesh-report':
      return { type: 'mesh-reported', session, report: frame.report };
    default:
      throw new Error(`no such frame: ${JSON.stringify((frame satisfies never as { type: string }).type)}`);
  }
}
