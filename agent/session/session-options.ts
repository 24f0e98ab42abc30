/** What a session is told of its node, and which admins it may be sent to. */
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { Registration } from '../../transport/protocol/agent-description.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { PROTOCOL_VERSION } from '../../transport/protocol/version.ts';
import type { SessionPorts } from './ports.ts';

/** Who connects, where to, and who wants to know. */
export interface SessionOptions {
  readonly node: NodeId;
  readonly token: string;
  readonly registration: Registration;
  /** http(s) URLs of admins in order of preference; read before every attempt, never empty. */
  readonly adminUrls: () => readonly string[];
  /**
   * How many of these, from the first on, admins named, at least 1: those that follow may lead nowhere any more.
   */
  readonly listedCount: () => number;
  /**
   * Called with every welcome and every later change. `reachedBy`: the one of `adminUrls` that led to this welcome;
   * null: it is none of them, or there is no welcome.
   */
  readonly onSettings?: (settings: AgentSettings, clusterName: string | null, reachedBy: string | null) => void;
  /** Called when admins confirmed results. */
  readonly onConfirmed?: () => void;
  /** Called at every welcome. */
  readonly onLive?: (adminUrl: string) => void;
  /**
   * Called after each round in which admins do not know this node, once that lasts; `wasDeleted`: one said that
   * somebody deleted it. The session goes on dialling, seldom.
   */
  readonly onUnknown?: (wasDeleted: boolean) => void;
  /**
   * Called when another agent's session of this node took over: never by one of this session's own, whose older link is
   * forgotten by then.
   */
  readonly onReplaced?: () => void;
  /**
   * Called when the token of this node went to another enrolment, which may be one of this machine. Returns after how
   * many ms the session dials again.
   */
  readonly onTaken?: () => number;
  /**
   * Called once when this machine is the node no more, since somebody deleted it (`wasDeleted`) or another machine
   * became it: the session is over and does not dial again.
   */
  readonly onRevoked?: (wasDeleted: boolean) => void;
}

/**
 * Redirects (4010) that are followed at once before back-off applies, and again after each wait; two admins that point
 * at each other must not spin.
 */
export const REDIRECTS_MAX = 3;

/** A session that lived this long was a good one: the next attempt starts with the shortest wait, in ms. */
export const STEADY_MS_MIN = 10_000;

/**
 * A redirect is followed to http(s) only, and never from an encrypted connection to a plain one: it carries the token.
 */
export function isFollowed(from: string, to: string): boolean {
  const protocol = new URL(to).protocol;
  return protocol === 'https:' || (protocol === 'http:' && new URL(from).protocol === 'http:');
}

/** Whether two URLs are the same place, however they are written. What is no URL is the same as nothing else. */
export function isSameAdmin(one: string, other: string): boolean {
  return one === other || (URL.canParse(one) && URL.canParse(other) && placeOf(one) === placeOf(other));
}

function placeOf(url: string): string {
  return new URL(url).href.replace(/\/+$/u, '');
}

/** What an agent says first: who it is, how it is, and what it holds. */
export function helloOf(
  { node, registration }: SessionOptions,
  { report, journal, facts }: Pick<SessionPorts, 'report' | 'journal' | 'facts'>,
): AgentFrameBody {
  return {
    type: 'hello',
    protocol: PROTOCOL_VERSION,
    node,
    registration: facts === undefined ? registration : { ...registration, facts: facts() },
    report: report(),
    holding: [...journal.holding()],
  };
}
