/** The services of the agent, each asked where its users would: by a connection to its port. */
import { connect } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { AGENT_DIAGNOSTICS_PATH, EXPORTER_PATH } from '../../../transport/protocol/agent-api.ts';
import { refuseUpgrade } from '../../../transport/net/streams/unasked-upgrade.ts';
import type { AgentPorts } from '../../../transport/protocol/agent-description.ts';
import type { Service } from '../health.ts';
import { OPEN_PROXIES_HINT } from '../../access/proxies/open-proxies.ts';
import { SHARED_HINT } from '../../session/shared-identity.ts';
import type { Refused } from '../../session/refusals.ts';
import { originOf } from './admin-answers.ts';
import { failed, passed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';

/** The session as it is now. */
export interface SessionState {
  readonly isLive: boolean;
  /** What admins say of the node, while they refuse it. */
  readonly refusal: Refused | null;
  /** Of the admin that it is, or was last, with; null: none so far. */
  readonly adminUrl: string | null;
  /** Unix ms. */
  readonly sinceMs: number | null;
}

/** Executions in the journal. */
export interface JournalCounts {
  /** Received and not started. */
  readonly waiting: number;
  readonly started: number;
  /** Finished, and not confirmed by an admin yet. */
  readonly unconfirmed: number;
}

/** What these checks look at. */
export interface ServiceSources {
  /** All services of the health report, by name. */
  readonly services: () => readonly Service[];
  readonly session: () => SessionState;
  readonly journal: () => JournalCounts;
  /** The ports that were got. */
  readonly ports: () => Partial<AgentPorts>;
  /** Addresses that each listens on; of several, the first is asked. */
  readonly proxyHosts: readonly string[];
  readonly isProxyEnabled: boolean;
  /** What is wrong with whom the proxies let in; null: nothing. */
  readonly openProxies: string | null;
}

/** Session, journal and runner. */
export function coreChecks({ services, session, journal }: ServiceSources): readonly Check[] {
  return [
    { name: 'session', look: () => sessionFinding(problemOf(services(), 'identity') ?? null, session()) },
    { name: 'journal', look: () => journalFinding(problemOf(services(), 'journal'), journal()) },
    {
      name: 'runner',
      look: () => runnerFinding(services().find((service) => service.name === 'runner')),
    },
  ];
}

/** Proxies and exporters. */
export function portChecks(sources: ServiceSources): readonly Check[] {
  return [
    { name: 'proxies', look: (signal) => proxies(sources, signal) },
    { name: 'exporters', look: (signal) => exporters(sources, signal) },
  ];
}

/** The problem of a service, null while it has none, undefined when there is no such service. */
export function problemOf(services: readonly Service[], name: string): string | null | undefined {
  return services.find((service) => service.name === name)?.problem();
}

/** The way out for a machine whose node is gone. */
const ANOTHER_NODE =
  'Stop the agent, run `edge-agent leave`, and start it with a new ENROLLMENT_KEY: that makes this machine another node.';

function sessionFinding(shared: string | null, { isLive, refusal, adminUrl, sinceMs }: SessionState): Finding {
  const details = {
    admin: adminUrl === null ? null : originOf(adminUrl).slice(0, 256),
    since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
  };
  if (shared !== null) return failed(shared, SHARED_HINT, details);
  if (refusal === 'deleted')
    return failed(
      'The node of this machine was deleted at the admin: what has not started is kept and not started.',
      ANOTHER_NODE,
      details,
    );
  if (refusal === 'unknown')
    return failed(
      'The admin does not know the node of this machine: its database is another than before, or another machine was enrolled as it. What has not started waits until an admin knows it.',
      `If the database was restored, set ENROLLMENT_KEY to a key with a use left and start the agent again: it joins again under its id. ${ANOTHER_NODE}`,
      details,
    );
  if (!isLive)
    return failed(
      'The agent has no session with an admin: it takes no commands, and nobody gets in through one.',
      'See the checks before this one, and the log of the agent: it dials again by itself.',
      details,
    );
  return passed(`The agent has had a session with ${details.admin} since ${details.since}.`, details);
}

function journalFinding(problem: string | null | undefined, counts: JournalCounts): Finding {
  const details = { waiting: counts.waiting, started: counts.started, unconfirmed: counts.unconfirmed };
  if (typeof problem === 'string')
    return failed(
      sentence(problem),
      'Make room on the disk of AGENT_DATA_DIR, and check that it is mounted read-write.',
      details,
    );
  return passed(
    `The journal stores durably; ${counts.waiting} executions wait, ${counts.started} run, and ${counts.unconfirmed} results are not confirmed yet.`,
    details,
  );
}

function runnerFinding(runner: Service | undefined): Finding {
  const note = runner?.note?.() ?? null;
  const finding = serviceFinding(
    runner?.problem(),
    'Commands are run as they come.',
    'Free what it names; commands wait in the journal meanwhile.',
  );
  return note === null || finding.status === 'fail'
    ? finding
    : warned(
        sentence(note),
        'End what they wait for, or end them as root: each keeps the place of a command until then.',
      );
}

function serviceFinding(problem: string | null | undefined, well: string, hint: string): Finding {
  return typeof problem === 'string' ? failed(sentence(problem), hint) : passed(well);
}

async function proxies(
  { isProxyEnabled, openProxies, proxyHosts, services, ports }: ServiceSources,
  signal: AbortSignal,
): Promise<Finding> {
  if (!isProxyEnabled) return passed('The proxies of this machine are switched off (AGENT_PROXY_ENABLED).');
  const { http_proxy_port: http, socks5_proxy_port: socks5 } = ports();
  const details = { http_port: http ?? null, socks5_port: socks5 ?? null };
  const problem = problemOf(services(), 'http_proxy') ?? problemOf(services(), 'socks5_proxy');
  if (typeof problem === 'string')
    return failed(
      sentence(problem),
      'Free the port, or choose others by AGENT_HTTP_PROXY_PORT and AGENT_SOCKS5_PROXY_PORT.',
      details,
    );
  const silent = (
    await Promise.all([http, socks5].map((port) => accepts(proxyHosts[0] ?? '127.0.0.1', port, signal)))
  ).includes(false);
  if (silent)
    return failed(
      'A proxy of this machine does not accept connections.',
      'Restart the agent, and look into its log.',
      details,
    );
  return openProxies !== null
    ? warned(openProxies, OPEN_PROXIES_HINT, details)
    : passed('The HTTP and the SOCKS5 proxy accept connections.', details);
}

/**
 * Each is asked for what it serves. The API is asked for something that takes a key: that it demands one is an answer.
 */
async function exporters({ services, ports }: ServiceSources, signal: AbortSignal): Promise<Finding> {
  const { http_port: api, host_metrics_port: host, wireguard_metrics_port: wireguard } = ports();
  const wanted = [
    ['api', api, AGENT_DIAGNOSTICS_PATH, 401],
    ['host_metrics', host, EXPORTER_PATH, 200],
    ['wireguard_metrics', wireguard, EXPORTER_PATH, 200],
  ] as const;
  const details = { api_port: api ?? null, host_metrics_port: host ?? null, wireguard_metrics_port: wireguard ?? null };
  const problems = await Promise.all(
    wanted.map(async ([name, port, path, status]) => {
      const problem = problemOf(services(), name);
      if (typeof problem === 'string') return problem;
      if (port === undefined) return `the server ${name} does not listen`;
      const answered = await statusAt(port, path, signal);
      return answered === status
        ? null
        : `the server ${name} ${answered === null ? 'does not answer' : `answers with status ${answered}`}`;
    }),
  );
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0)
    return failed(
      sentence(found.join('; ')),
      'Free the ports, or choose others by AGENT_API_PORT, AGENT_HOST_METRICS_PORT and AGENT_WIREGUARD_METRICS_PORT.',
      details,
    );
  return passed('The API and both exporters of metrics answer on their ports.', details);
}

/** Whether something accepts a connection. It is closed at once. */
async function accepts(host: string, port: number | undefined, signal: AbortSignal): Promise<boolean> {
  if (port === undefined) return false;
  return new Promise((resolve) => {
    const socket = connect({ host: localOf(host), port, signal });
    socket.once('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => resolve(false));
  });
}

async function statusAt(port: number, path: string, signal: AbortSignal): Promise<number | null> {
  const { request } = process.getBuiltinModule('node:http');
  return new Promise((resolve) => {
    const asked = request({ host: 'localhost', port, path, signal, agent: false }, (answer: IncomingMessage) => {
      answer.on('error', () => {});
      resolve(answer.statusCode ?? null);
      asked.destroy(); // what it says besides may have no end
    });
    refuseUpgrade(asked)
      .on('error', () => resolve(null))
      .end();
  });
}

/** Where a server that listens on this address is dialled from the same machine. */
function localOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** A problem of a service as a sentence of its own. */
function sentence(problem: string): string {
  const text = problem.slice(0, 500);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
