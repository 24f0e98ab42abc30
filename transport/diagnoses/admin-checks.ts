/**
 * What an admin sees of the way to a node by itself: its session, when it was heard, its tunnel, and how long a word
 * takes.
 */
import type { NodeStanding, DiagnosisPorts } from './ports.ts';
import type { DiagnosisCheck, DiagnosisDetail, DiagnosisStatus } from '../protocol/diagnosis.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { Dialled } from '../net/streams/dialled.ts';
import { METERED_PING_MS } from '../protocol/limits.ts';
import { ROUND_TRIP_MS_MAX, ROUND_TRIP_MS_WARN, TUNNEL_MS_MAX } from './limits.ts';
import type { AdminCheck } from './reading.ts';

/**
 * Silence that is nothing to worry about while there is a session, in ms: an agent on a metered link says something
 * each minute, and times are stored every 10 s. Source: docs/diagnostics.md.
 */
const SILENCE_MS_WARN = METERED_PING_MS + 30_000;

/**
 * Looks, in the order in which it is told. `isReached`: a stream through the tunnel came about, or the machine itself
 * refused it.
 */
export async function lookFromHere(
  ports: DiagnosisPorts,
  node: NodeId,
  standing: NodeStanding,
): Promise<{ readonly checks: readonly DiagnosisCheck[]; readonly isReached: boolean }> {
  const tunnel = await dialled(ports, node, standing, TUNNEL_MS_MAX);
  const checks = [sessionCheck(ports, node, standing), seenCheck(standing, ports.clock.nowMs()), tunnelCheck(tunnel)];
  if (!tunnel.isOpen) return { checks, isReached: false };
  return {
    checks: [...checks, roundTripCheck(await dialled(ports, node, standing, ROUND_TRIP_MS_MAX))],
    isReached: true,
  };
}

interface Dial {
  readonly dial: Dialled;
  /** The way to the machine is open, whatever the machine made of it. */
  readonly isOpen: boolean;
  readonly ms: number;
}

/** A stream to the agent's API, closed at once. */
async function dialled(
  { tunnels }: DiagnosisPorts,
  node: NodeId,
  { apiPort }: NodeStanding,
  msMax: number,
): Promise<Dial> {
  const startedMs = performance.now();
  const dial = await tunnels.reach(
    node,
    { use: 'self', host: 'localhost', port: apiPort, server: 'api' },
    AbortSignal.timeout(msMax),
  );
  if (dial.ok) dial.stream.destroy();
  return { dial, isOpen: dial.ok || dial.failure === 'refused', ms: Math.round(performance.now() - startedMs) };
}

function sessionCheck(
  { hasSession, relayedBy, adminId }: DiagnosisPorts,
  node: NodeId,
  { owner, status }: NodeStanding,
): DiagnosisCheck {
  const details = { status, admin: owner?.name.slice(0, 256) ?? null, is_here: hasSession(node) };
  const relay = relayedBy(node);
  if (details.is_here && relay !== null)
    return checked(
      'node_session',
      'warn',
      `The agent has a session at this admin, relayed by the admin ${relay}: it does not reach this one itself.`,
      'See whether the machine gets to the ADMIN_OWN_URL of this admin.',
      0,
      details,
    );
  if (details.is_here)
    return checked('node_session', 'pass', 'The agent has a session at this admin.', null, 0, details);
  if (owner === null)
    return checked(
      'node_session',
      'fail',
      'No admin owns the cluster of this node, so its agent has nowhere to connect.',
      'See whether the admins run and have room: `edge health`.',
      0,
      details,
    );
  if (owner.id !== adminId && status !== 'unreachable')
    return checked(
      'node_session',
      'pass',
      `The agent has its session at the admin ${owner.name}, which owns its cluster.`,
      null,
      0,
      details,
    );
  return checked(
    'node_session',
    'fail',
    'The agent has no session with an admin.',
    'See whether the machine is switched on and has network, and run `edge-agent doctor` on it.',
    0,
    details,
  );
}

function seenCheck({ lastSeenAtMs, status }: NodeStanding, nowMs: number): DiagnosisCheck {
  if (lastSeenAtMs === null)
    return checked(
      'node_last_seen',
      'fail',
      'The agent has enrolled and never connected.',
      'Look into the log of the agent: it says why it cannot connect.',
      0,
      { last_seen_at: null },
    );
  const seconds = Math.max(0, Math.round((nowMs - lastSeenAtMs) / 1_000));
  const details = { last_seen_at: new Date(lastSeenAtMs).toISOString(), seconds_ago: seconds };
  const summary = `The agent was last heard ${seconds} s ago.`;
  const isSilent = seconds * 1_000 > SILENCE_MS_WARN;
  if (status === 'unreachable')
    return checked(
      'node_last_seen',
      'fail',
      summary,
      'What happened at that time? Power, network and the log of the agent tell.',
      0,
      details,
    );
  return isSilent
    ? checked(
        'node_last_seen',
        'warn',
        summary,
        'It should be heard every few seconds: see the checks of its network.',
        0,
        details,
      )
    : checked('node_last_seen', 'pass', summary, null, 0, details);
}

function tunnelCheck({ dial, isOpen, ms }: Dial): DiagnosisCheck {
  if (isOpen)
    return checked(
      'node_tunnel',
      'pass',
      `A tunnel to the machine is open; getting through took ${ms} ms.`,
      null,
      ms,
      null,
    );
  return checked(
    'node_tunnel',
    'fail',
    `No tunnel to the machine comes about: ${dial.ok ? '' : sentenceEnd(dial.message)}`,
    'Nobody gets in until its agent connects. If it has a session, look for proxies that cut WebSockets.',
    ms,
    { failure: dial.ok ? null : dial.failure },
  );
}

function roundTripCheck({ isOpen, ms }: Dial): DiagnosisCheck {
  const details = { round_trip_ms: ms };
  if (!isOpen)
    return checked(
      'node_round_trip',
      'fail',
      `A word to the machine and back took longer than ${ROUND_TRIP_MS_MAX} ms.`,
      'The line of the machine is overloaded or loses packets.',
      ms,
      details,
    );
  if (ms > ROUND_TRIP_MS_WARN)
    return checked(
      'node_round_trip',
      'warn',
      `A word to the machine and back takes ${ms} ms.`,
      'The line of the machine is slow or overloaded.',
      ms,
      details,
    );
  return checked('node_round_trip', 'pass', `A word to the machine and back takes ${ms} ms.`, null, ms, details);
}

/**
 * What to do about a report that did not come, by what there is instead: an answer of the agent, of something, or none.
 */
const HINTS = {
  agent: 'Update the agent if it is old; an agent that answers so at the present version is not to be trusted.',
  stranger:
    "Another program may have the port of the agent's API: give the agent one of its own by AGENT_API_PORT, or update it. What follows was true then, and need not be now.",
  nobody: 'Repair what is above first. What follows was true then, and need not be now.',
} as const;

/** What came of asking the agent for its own report. */
export function reportCheck(
  outcome: 'live' | { readonly problem: string; readonly from: keyof typeof HINTS; readonly lastAtMs: number | null },
  durationMs: number,
): DiagnosisCheck {
  if (outcome === 'live')
    return checked('agent_report', 'pass', 'The agent gave its own report, which follows.', null, durationMs, {
      is_live: true,
    });
  const lastAt = outcome.lastAtMs === null ? null : new Date(outcome.lastAtMs).toISOString();
  const follows = lastAt === null ? 'there is none from before' : `the last one, of ${lastAt}, follows`;
  const hint = HINTS[outcome.from];
  return checked(
    'agent_report',
    'fail',
    `The agent gave no report now (${sentenceEnd(outcome.problem).replace(/\.$/u, '')}); ${follows}.`,
    hint,
    durationMs,
    { is_live: false, last_report_at: lastAt },
  );
}

/** The versions of both sides. The order is that of their numbers; what stands behind a hyphen is left out. */
export function versionCheck(agent: string, admin: string): DiagnosisCheck {
  const details = { agent: agent.slice(0, 64), admin };
  const [theirs, ours] = [agent, admin].map((version) => version.split('-', 1)[0]?.split('.').map(Number) ?? []);
  const difference =
    [0, 1, 2].map((index) => (theirs?.[index] ?? 0) - (ours?.[index] ?? 0)).find((part) => part !== 0) ?? 0;
  if (Number.isNaN(difference))
    return checked(
      'version',
      'warn',
      'The version of the agent cannot be compared with that of this admin.',
      'Update the agent.',
      0,
      details,
    );
  if (difference < 0)
    return checked(
      'version',
      'warn',
      'The agent is older than this admin.',
      'Update the agent: it works, without what is new since.',
      0,
      details,
    );
  if (difference > 0)
    return checked(
      'version',
      'warn',
      'The agent is newer than this admin.',
      'Update the admin: it works, without what is new since.',
      0,
      details,
    );
  return checked('version', 'pass', 'The agent has the version of this admin.', null, 0, details);
}

/** What comes from a machine is bounded, and ends as a sentence does. */
function sentenceEnd(text: string): string {
  const bounded = text.slice(0, 300);
  return `${bounded.charAt(0).toLowerCase()}${bounded.slice(1)}${bounded.endsWith('.') ? '' : '.'}`;
}

function checked(
  name: AdminCheck,
  status: DiagnosisStatus,
  summary: string,
  hint: string | null,
  durationMs: number,
  details: Readonly<Record<string, DiagnosisDetail>> | null,
): DiagnosisCheck {
  return { name, status, summary, hint, details: details === null ? null : { ...details }, duration_ms: durationMs };
}
