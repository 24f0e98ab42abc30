/**
 * Why a node has its status, in one sentence for an operator, and what that rests on. Nothing in it is a secret or an
 * address (E4, R3).
 */
import type { HealthReport } from '../../transport/protocol/agent-description.ts';
import { VPN_PATHS } from '../../transport/protocol/vpn.ts';
import { cutWords, shownWords } from '../agent-words.ts';
import type { NodeRecord, Standing } from '../records.ts';
import { instant } from '../resources/instant.ts';
import type { NodeStatus, ServiceProblem, StatusEvidence, VpnEvidence } from '../resources/node.ts';
import type { LiveSession } from './state.ts';

/** Reason of a node that is enrolled and was never heard. */
export const NEVER_CONNECTED = 'It has not connected yet';

/** Longest words of an agent about one service that are kept, and longest reason, in characters. */
const PROBLEM_CHARS_MAX = 256;
const REASON_CHARS_MAX = 1_024;

/** The standing of a node that was just enrolled. */
export function newStanding(nowMs: number): Standing {
  return { sinceMs: nowMs, reason: NEVER_CONNECTED, evidence: null, changesMs: [] };
}

/** Services that reported a problem, in words that may be shown to anyone. */
export function problemsOf({ services }: HealthReport): readonly ServiceProblem[] {
  return services
    .filter(({ healthy }) => !healthy)
    .map(({ name, detail }) => ({
      name: shownWords(name, PROBLEM_CHARS_MAX),
      problem: shownWords(detail ?? 'it does not work, and does not say why', PROBLEM_CHARS_MAX),
    }));
}

/**
 * Why the node is told to be in `told`; null: it is healthy, and its session comes straight here. `isDamped`: its
 * session shows a better status, which is told once it has lasted.
 */
export function reasonOf(
  record: Pick<NodeRecord, 'lastSeenAtMs'>,
  session: LiveSession | null,
  told: NodeStatus,
  isDamped: boolean,
): string | null {
  if (session === null)
    return record.lastSeenAtMs === null ? NEVER_CONNECTED : `Nothing heard since ${instant(record.lastSeenAtMs)}`;
  const relayed = session.relayedBy === null ? [] : [relayedWords(session.relayedBy)];
  const problems = [
    ...(session.reportLate ? [`No report since ${instant(session.reportedAtMs)}`] : []),
    ...problemsOf(session.report).map(({ name, problem }) => `${name}: ${problem}`),
    ...relayed,
  ].join('; ');
  if (!isDamped) return told === 'healthy' ? (relayed[0] ?? null) : cutWords(problems, REASON_CHARS_MAX);
  const since =
    session.wellSinceMs === null
      ? `Connected since ${instant(session.connectedAtMs)}; ${problems}`
      : `Well since ${instant(session.wellSinceMs)}`;
  return cutWords(
    `Its status changed often, so that a better one is told once it has lasted. ${since}`,
    REASON_CHARS_MAX,
  );
}

/** What a status rests on now. */
export function evidenceOf(
  session: LiveSession | null,
  known: StatusEvidence | null,
  nowMs: number,
): StatusEvidence | null {
  if (session === null) return known === null ? null : { ...known, observed_at: instant(nowMs), session: null };
  return {
    observed_at: instant(nowMs),
    session: { connected_at: instant(session.connectedAtMs) },
    last_report_at: instant(session.reportedAtMs),
    services: problemsOf(session.report),
    vpn: vpnOf(session, nowMs),
  };
}

/**
 * What the agent last said of the VPN. It makes no status worse: a node without it is reached all the same. Null: it
 * is in none.
 */
function vpnOf({ vpn: { report } }: LiveSession, nowMs: number): VpnEvidence | null {
  if (report === null) return null;
  const {
    said: { gateway, ...counts },
    atMs,
  } = report;
  if (gateway === null) return { handshake_age_ms: null, path: VPN_PATHS.find((path) => counts[path] > 0) ?? 'none' };
  const { path, handshake_age_ms: ageMs } = gateway;
  return { handshake_age_ms: ageMs === null ? null : ageMs + Math.max(0, nowMs - atMs), path };
}

/** That its session takes a way of its own, in words that complete any reason. */
function relayedWords(admin: string): string {
  return `Its session is relayed by the admin ${admin}: the agent does not reach the owner of its cluster`;
}
