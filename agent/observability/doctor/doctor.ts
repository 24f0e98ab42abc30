/**
 * Which checks there are, and in which order: the network and the VPN before the services, because nothing above works
 * while something below does not.
 */
import { join } from 'node:path';
import type { Diagnosis } from '../../../transport/protocol/diagnosis.ts';
import type { AgentPorts } from '../../../transport/protocol/agent-description.ts';
import { createVet } from '../../../transport/net/outbound-guard/vetting.ts';
import type { GivenConfig } from '../../config.ts';
import { PIN_FILE } from '../../data-directory.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import type { Service } from '../health.ts';
import { MACHINE_WIREGUARD } from '../metrics/wireguard.ts';
import { openProxiesProblem } from '../../access/proxies/open-proxies.ts';
import { SETPRIV_PATHS } from '../../access/ssh/sessions/launch.ts';
import { askAdmins } from './admin-answers.ts';
import { diagnose } from './check.ts';
import type { Check } from './check.ts';
import { diskCheck, resourceChecks, systemCheck } from './machine.ts';
import { networkChecks } from './network.ts';
import { coreChecks, portChecks, problemOf } from './services.ts';
import type { JournalCounts, SessionState } from './services.ts';
import { sshCheck } from './ssh.ts';
import { updaterCheck } from './updater.ts';
import { vpnChecks } from './vpn.ts';
import type { VpnSources } from './vpn.ts';

/** Admins are asked for so long, in ms: a little less than a check has, so that what some of them said is told. */
const ANSWER_MS_MAX = 2_500;

/** Where the system tells of itself; tests have their own. */
export interface SystemPlaces {
  readonly proc: string;
  readonly tun: string;
  readonly wireguard: VpnSources['wireguard'];
  readonly setpriv: readonly string[];
  /** Which hosts relay maps may be on (R2). */
  readonly vet: VpnSources['vet'];
}

/** Where Linux has it. */
export function systemPlaces(): SystemPlaces {
  return {
    proc: '/proc',
    tun: '/dev/net/tun',
    wireguard: MACHINE_WIREGUARD,
    setpriv: SETPRIV_PATHS,
    vet: createVet({ allowPrivate: false }),
  };
}

/** What is known of the machine whether or not an agent runs on it. */
export interface MachineFacts {
  readonly config: GivenConfig;
  readonly version: string;
  /** AGENT_DATA_DIR. */
  readonly directory: string;
  readonly hostKeyPath: string;
  /** In order of preference; none where the machine is not enrolled. */
  readonly adminUrls: () => readonly string[];
  /** As an admin handed them; null: none said so far. */
  readonly relayMapUrls: () => readonly string[] | null;
  /** How admins are reached. */
  readonly outbound: Outbound;
}

/** What a running agent knows besides. */
export interface AgentFacts {
  readonly services: () => readonly Service[];
  readonly session: () => SessionState;
  readonly journal: () => JournalCounts;
  readonly ports: () => Partial<AgentPorts>;
}

/** Network and VPN. `running`: what a running agent says of itself; null: there is none. */
export function connectionChecks(
  { adminUrls, relayMapUrls, outbound }: MachineFacts,
  { proc, tun, wireguard, vet }: SystemPlaces,
  running: Pick<AgentFacts, 'services'> | null,
): readonly Check[] {
  let asked: ReturnType<typeof askAdmins> | null = null;
  return [
    ...networkChecks({
      adminUrls,
      proxyFor: (url) => outbound.proxyFor(url),
      proc,
      answers: () => (asked ??= askAdmins(adminUrls(), AbortSignal.timeout(ANSWER_MS_MAX), outbound)),
    }),
    ...vpnChecks({
      tunPath: tun,
      isRoot: isRoot(),
      wireguard,
      relayMapUrls,
      vet,
      adminUrls,
      service: (wanted) => running?.services().find(({ name }) => name === wanted) ?? null,
    }),
  ];
}

/** SSH, as far as it can be looked at with or without a running agent. */
export function loginCheck(
  { config, hostKeyPath }: MachineFacts,
  { setpriv }: SystemPlaces,
  running: Pick<AgentFacts, 'services' | 'ports'> | null,
): Check {
  return sshCheck({
    isEnabled: config.AGENT_SSH_ENABLED,
    hostKeyPath,
    isRoot: isRoot(),
    setprivPaths: setpriv,
    port: () => (running === null ? undefined : (running.ports().ssh_port ?? null)),
    problem: () => (running === null ? null : (problemOf(running.services(), 'ssh') ?? null)),
  });
}

/** The updater, which can be looked at with or without a running agent. */
export function ownUpdaterCheck({ config, directory }: MachineFacts): Check {
  return updaterCheck({
    isEnabled: config.AGENT_SELF_UPDATE_ENABLED,
    url: config.AGENT_UPDATER_URL,
    token: config.AGENT_UPDATER_TOKEN,
    pinPath: join(directory, PIN_FILE),
  });
}

/** A report by a running agent. Never rejects; it changes nothing, and the health of the agent least of all. */
export function diagnoseAgent(
  machine: MachineFacts,
  agent: AgentFacts,
  places: SystemPlaces = systemPlaces(),
): Promise<Diagnosis> {
  const { config, directory, version } = machine;
  const sources = {
    ...agent,
    proxyHosts: config.AGENT_PROXY_HOST,
    isProxyEnabled: config.AGENT_PROXY_ENABLED,
    openProxies: openProxiesProblem(config),
  };
  return diagnose([
    ...connectionChecks(machine, places, agent),
    ...coreChecks(sources),
    diskCheck({ directory }),
    ...resourceChecks(places),
    loginCheck(machine, places, agent),
    ...portChecks(sources),
    ownUpdaterCheck(machine),
    systemCheck({ version }),
  ]);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
