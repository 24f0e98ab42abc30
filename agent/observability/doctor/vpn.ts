/**
 * What the VPN stands on: the TUN device, WireGuard's interfaces and handshakes, names, and the relay map. Addresses of
 * the VPN are told nowhere (R3).
 */
import { open } from 'node:fs/promises';
import { fetchMap, type MapReach } from '../../../transport/vpn/relay-map/map-source.ts';
import type { Vet } from '../../../transport/net/outbound-guard/vetting.ts';
import { originOf } from './admin-answers.ts';
import { failed, passed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';
import { DIAGNOSIS_TEXT_CHARS_MAX } from '../../../transport/protocol/diagnosis.ts';
import type { Service } from '../health.ts';
import { readDevices } from '../metrics/wireguard.ts';
import type { WireguardDevice, WireguardSources } from '../metrics/wireguard.ts';

/** A peer was heard if its handshake is younger, in seconds. Source: WireGuard, REJECT_AFTER_TIME is 180 s. */
const HANDSHAKE_SECONDS_MAX = 180;

/** Relay maps that are tried. */
const RELAY_MAPS_MAX = 4;

/** What these checks look at. */
export interface VpnSources {
  /** The TUN device; /dev/net/tun. */
  readonly tunPath: string;
  readonly isRoot: boolean;
  /** Where WireGuard is. */
  readonly wireguard: Omit<WireguardSources, 'peers'>;
  /** Relay maps in order, as the admin handed them; null: no admin said so far. */
  readonly relayMapUrls: () => readonly string[] | null;
  /** Which hosts they may be on (R2), beside those of the admins. */
  readonly vet: Vet;
  readonly adminUrls: () => readonly string[];
  /** What a running agent says of its membership, and of the names of the others; null: none runs. */
  readonly service: (name: 'vpn' | 'names') => Service | null;
}

/** In their order. */
export function vpnChecks({
  tunPath,
  isRoot,
  wireguard,
  relayMapUrls,
  vet,
  adminUrls,
  service,
}: VpnSources): readonly Check[] {
  return [
    { name: 'tun', look: () => tun(tunPath, isRoot) },
    {
      name: 'wireguard',
      look: async () => {
        const { devices } = await readDevices(wireguard);
        return withMember(peers(devices), service('vpn'));
      },
    },
    { name: 'names', look: () => names(service('names')) },
    { name: 'relay_map', look: (signal) => relayMap(relayMapUrls(), { vet, trusted: adminUrls }, signal) },
  ];
}

/** Opening it makes no interface: that takes another call. Source: Linux, tuntap.rst. */
async function tun(path: string, isRoot: boolean): Promise<Finding> {
  try {
    await (await open(path, 'r+')).close();
    return passed('The TUN device is there and can be opened.', { is_present: true, is_openable: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const details = { is_present: code !== 'ENOENT', is_openable: false };
    if (code === 'ENOENT')
      return warned(
        'This machine has no TUN device: it can join a VPN through WireGuard of the kernel only. Everything else works.',
        'Load it with `modprobe tun`, or give /dev/net/tun to the container.',
        details,
      );
    if (!isRoot)
      return warned(
        'The TUN device is closed to the account of this agent: without it no VPN is joined. Everything else works.',
        'Run the agent as root, or with CAP_NET_ADMIN and access to /dev/net/tun, if this machine is to join a VPN.',
        details,
      );
    return warned(
      `The TUN device cannot be opened: ${code ?? 'unknown error'}.`,
      'Load its module with `modprobe tun`; in a container, allow the device (10:200).',
      details,
    );
  }
}

/** The agent knows what its interface cannot tell, such as which peers are left out, or why it has none. */
function withMember(finding: Finding, member: Service | null): Finding {
  const problem = member?.problem() ?? null;
  const said = problem ?? member?.note?.() ?? null;
  if (said === null || finding.status === 'fail') return finding;
  const found = problem === null ? warned : failed;
  return found(
    `${finding.summary} The agent says: ${said}`.slice(0, DIAGNOSIS_TEXT_CHARS_MAX),
    finding.hint ??
      'What is left out, or in the way, is named; all else works. A machine whose key is damaged gets another by `edge-agent rotate-key` on it.',
    finding.details ?? {},
  );
}

function names(service: Service | null): Finding {
  const problem = service?.problem() ?? null;
  const said = problem ?? service?.note?.() ?? null;
  if (said === null) return passed('Nothing is in the way of the names of the other members.');
  const found = problem === null ? warned : failed;
  return found(
    `Names of the other members do not work as they should: ${said}`.slice(0, DIAGNOSIS_TEXT_CHARS_MAX),
    'Members are reached by their addresses meanwhile. What is in the way is named: the resolver of this machine, port 53, or /etc/hosts.',
  );
}

function peers(devices: readonly WireguardDevice[]): Finding {
  if (devices.length === 0) return passed('This machine is in no VPN yet.', { interfaces: 0 });
  const handshakes = devices.flatMap(({ reading }) =>
    reading.kind === 'read' ? reading.peers.map((peer) => peer.handshakeSeconds) : [],
  );
  const nowSeconds = Date.now() / 1_000;
  const recent = handshakes.filter((seconds) => nowSeconds - seconds <= HANDSHAKE_SECONDS_MAX).length;
  const details = {
    interfaces: devices.length,
    peers: handshakes.length,
    heard_recently: recent,
    never_heard: handshakes.filter((seconds) => seconds === 0).length,
  };
  for (const { name, reading } of devices) {
    if (reading.kind === 'failed')
      return warned(
        `The WireGuard interface ${name} cannot be read: ${reading.reason}.`,
        'Run the agent as root, install wireguard-tools, or restart what made the interface.',
        details,
      );
  }
  if (handshakes.length === 0)
    return warned(
      'WireGuard is up and knows no peer.',
      'See whether the cluster has other nodes, and whether the admin is reachable.',
      details,
    );
  if (recent === 0)
    return warned(
      `None of the ${handshakes.length} peers was heard in the last ${HANDSHAKE_SECONDS_MAX} s.`,
      'Their machines may be away. If they are not, check that UDP leaves this machine.',
      details,
    );
  return passed(`${recent} of ${handshakes.length} peers were heard in the last ${HANDSHAKE_SECONDS_MAX} s.`, details);
}

async function relayMap(urls: readonly string[] | null, reach: MapReach, signal: AbortSignal): Promise<Finding> {
  if (urls === null) return passed('No admin said which relays to use so far.');
  if (urls.length === 0)
    return passed('No relay map is configured (CORE_DERP_MAP_URLS), so none is needed.', { maps: 0 });
  const problems: string[] = [];
  for (const url of urls.slice(0, RELAY_MAPS_MAX)) {
    const fetched = await fetchMap(url, reach, signal);
    if (fetched.ok) return found(fetched.map.regions.size, url, problems, urls.length);
    problems.push(`${originOf(url)}: ${fetched.problem}`);
  }
  return failed(
    `None of the ${urls.length} relay maps can be used: ${problems.join('; ').slice(0, 300)}.`,
    'Check CORE_DERP_MAP_URLS of the admin, and that this machine reaches those hosts. Peers that reach each other directly need no relay.',
    { maps: urls.length },
  );
}

function found(regions: number, url: string, problems: readonly string[], maps: number): Finding {
  const details = { maps, map: originOf(url).slice(0, 256), regions };
  const summary = `The relay map of ${originOf(url)} names ${regions} ${regions === 1 ? 'region' : 'regions'}.`;
  return problems.length === 0
    ? passed(summary, details)
    : warned(
        `${summary} ${problems.length === 1 ? 'The one' : `${problems.length}`} before it cannot be used: ${problems.join('; ').slice(0, 256)}.`,
        'Check CORE_DERP_MAP_URLS of the admin. Without it the map is at the URL of each admin, and one is enough.',
        details,
      );
}
