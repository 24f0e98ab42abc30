/** How people get at this machine, put together: streams out of it, tunnels from admins, its own proxies, and SSH. */
import type { AgentPorts } from '../../transport/protocol/agent-description.ts';
import type { SshCredential, SshRecordingSettings } from '../../transport/protocol/ssh.ts';
import type { SshSessions } from '../../transport/protocol/ssh-sessions.ts';
import { egressRulesOf, withLoopback } from '../config.ts';
import type { AgentConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import { CountedEgress } from './egress/dialler.ts';
import type { EgressCounts } from './egress/dialler.ts';
import type { Egress } from './egress/egress.ts';
import type { PickedPorts } from '../free-ports.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { OwnServers } from '../own-servers.ts';
import type { Service } from '../observability/health.ts';
import type { SessionClock, SessionReach } from '../session/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { startAgentProxies } from './proxies/proxies.ts';
import type { AgentProxies } from './proxies/proxies.ts';
import { sftpCommand } from './sftp/command.ts';
import { accountsOfMachine } from './ssh/login/accounts.ts';
import { createAsking } from './ssh/login/admin-verdicts.ts';
import type { VerifySsh } from './ssh/login/login.ts';
import { SshServer } from './ssh/server.ts';
import { RecordingRecovery } from './ssh/recording/recovery.ts';
import { RecordingSpool } from './ssh/recording/spool.ts';
import { openUnanswered } from './ssh/login/unanswered.ts';
import { RecordingUploads } from './ssh/recording/upload.ts';
import { tunnelJoins } from './tunnel/joins.ts';
import { AgentTunnels } from './tunnel/tunnels.ts';
import type { TunnelsOptions } from './tunnel/tunnels.ts';

/** Open connections through this machine may go on for so long when the agent stops, in ms. */
const DRAIN_MS_MAX = 2_000;

/** What it is made of. */
export interface ReachOptions {
  readonly config: AgentConfig;
  readonly picked: PickedPorts;
  /** Is told where the SSH server listens. */
  readonly own: OwnServers;
  readonly directory: DataDirectory;
  /** The node's API token, for uploads of recordings. */
  readonly token: string;
  /** Of the agent's own proxies, as enrolment gave it. */
  readonly proxyPassword: string;
  /** Asks the admin about a login; false when none can be asked now. */
  readonly askAdmin: (attempt: number, username: string, credential: SshCredential) => boolean;
  /** What admins want recorded, as they said last. */
  readonly recording: () => SshRecordingSettings;
  /** The way to the admin through the VPN. Left out: this machine is in none. */
  readonly vpnWay?: TunnelsOptions['vpnWay'];
  /** How admins are reached. */
  readonly outbound: Outbound;
  readonly clock: SessionClock;
  readonly log: Log;
}

/** What it counts, for metrics. Null: it is off. */
export interface ReachCounts {
  readonly egress: () => EgressCounts;
  readonly proxies: (() => AgentProxies['servers']) | null;
  readonly ssh: (() => SshServer['counters']) | null;
  /** Streams that are open in tunnels from admins. */
  readonly tunnelStreams: () => number;
}

/** What runs of it. */
export interface Reach {
  /** What the session tells it. */
  readonly session: SessionReach;
  readonly services: readonly Service[];
  readonly counts: ReachCounts;
  /** The ports that were got. */
  readonly ports: Partial<AgentPorts>;
  /** Who is logged in by SSH now; nobody where the server is off. */
  sshSessions(): SshSessions;
  /** The public host key of the SSH server; null: there is none. */
  readonly sshHostKey: string | null;
  /** A session with the admin at this URL is live: what waits for one goes there. */
  connected(adminUrl: string): void;
  close(): Promise<void>;
}

/**
 * Starts everything that the settings want. Never rejects: what does not start says so once, in the log and in its
 * service.
 */
export async function startReach(options: ReachOptions): Promise<Reach> {
  const { config, picked, own, directory, token, proxyPassword, askAdmin, vpnWay, outbound, clock, log } = options;
  let listening: AgentProxies['listening'] = [];
  const egress = new CountedEgress({ rules: egressRulesOf(config), proxies: () => listening, own });
  const proxies = await startAgentProxies({ config, picked, password: proxyPassword, egress, log });
  listening = proxies.listening;
  const joins = tunnelJoins();
  const join: TunnelsOptions['join'] = (one, other) => joins.join(one, other);
  const tunnels = new AgentTunnels({ egress, join, outbound, log, ...(vpnWay !== undefined && { vpnWay }) });
  const unanswered = openUnanswered(directory.sshUnanswered, log);
  const asking = createAsking(askAdmin, unanswered);
  const spool = new RecordingSpool(directory.sshRecordings);
  const uploads = new RecordingUploads({ spool, token, outbound, clock, random: Math.random, log });
  spool.onFinished = () => uploads.wake();
  const recovery = new RecordingRecovery({ spool, clock, log });
  const ssh = config.AGENT_SSH_ENABLED ? newSshServer(options, asking.verify, egress, spool) : null;
  const sshPort = (await ssh?.start()) ?? null;
  own.tell('ssh', sshPort ?? config.AGENT_SSH_PORT, ssh?.place ?? null); // also switched off: its port is nobody else's
  if (ssh !== null && sshPort !== null)
    log.info({ port: sshPort, host_key: ssh.hostKeyFingerprint }, 'The SSH server of this machine listens');
  return {
    session: {
      openTunnel: (...asked) => tunnels.open(...asked),
      verdict: (attempt, verdict) => asking.verdict(attempt, verdict),
      endSsh: (usernames, keys) => ssh?.end(usernames, keys),
      unanswered(stored) {
        unanswered.remove(stored ?? []);
        return unanswered.next(stored === null);
      },
      grants: () => ssh?.grants() ?? [],
    },
    services: [...proxies.services, ...(ssh === null ? [] : [{ name: 'ssh', problem: () => ssh.problem }])],
    counts: {
      egress: () => egress.counts(),
      proxies: config.AGENT_PROXY_ENABLED ? () => proxies.servers : null,
      ssh: ssh === null ? null : () => ssh.counters,
      tunnelStreams: () => tunnels.streams,
    },
    sshSessions: () => ssh?.sessions() ?? { session_count: 0, sessions: [] },
    sshHostKey: ssh?.hostPublicKey ?? null,
    ports: { ...proxies.ports, ...(sshPort !== null && { ssh_port: sshPort }) },
    connected(adminUrl) {
      asking.connected();
      uploads.start(adminUrl);
    },
    async close() {
      await Promise.all([
        proxies.close(DRAIN_MS_MAX),
        joins.drain(DRAIN_MS_MAX),
        ssh?.close(),
        uploads.close(),
        recovery.close(),
      ]);
      tunnels.close();
    },
  };
}

function newSshServer(
  { config, picked, directory, recording, log }: ReachOptions,
  verify: VerifySsh,
  egress: Egress,
  spool: RecordingSpool,
): SshServer {
  return new SshServer({
    port: config.AGENT_SSH_PORT,
    orAnotherPort: picked.has('AGENT_SSH_PORT'),
    hosts: withLoopback(config.AGENT_SSH_HOST),
    hostKeyPath: directory.sshHostKey,
    verify,
    egress,
    log,
    environment: process.env,
    sftpCommand,
    recording: { spool, settings: recording },
    accounts: accountsOfMachine(config.AGENT_SSH_UNKNOWN_USERS),
  });
}
