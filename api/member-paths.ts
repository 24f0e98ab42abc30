/** How one member of a VPN reaches its peers: read from the metrics of its agent, which alone knows it. */
import type { MemberPath } from '../actors/resources/cluster-paths.ts';
import type { NodeResource } from '../actors/resources/node.ts';
import { ok, refuse, type Result } from '../actors/refusal.ts';
import { samplesInTurns, type Sample, type Samples } from '../transport/net/exposition/samples.ts';
import { NodeId } from '../transport/protocol/ids.ts';
import { VPN_PATHS } from '../transport/protocol/vpn.ts';
import type { NodeMetrics } from './node-ports.ts';

/** What agents call themselves so. Source: agent/observability/metrics/wireguard.ts. */
const PATHS = 'wireguard_peer_path';
const HANDSHAKES = 'wireguard_latest_handshake_seconds';
const GATEWAY = 'gateway';

/** With what a member is asked. */
export interface Asking {
  readonly nodeMetrics: NodeMetrics;
  /** Aborted: there is no time left, and nobody is asked any more. None: as long as a scrape may take. */
  readonly signal?: AbortSignal;
  /** Unix ms. */
  readonly nowMs: number;
}

/**
 * Its paths as it says, each peer once; none where it is in no VPN. An agent may name nodes that are no members, or
 * that are not there. `service_unavailable` when it is away or does not answer.
 */
export async function pathsOf(
  { id, status }: Pick<NodeResource, 'id' | 'status'>,
  { nodeMetrics, signal, nowMs }: Asking,
): Promise<Result<readonly MemberPath[]>> {
  if (status === 'unreachable') return refuse('service_unavailable', 'The node is away.');
  if (signal?.aborted === true) return refuse('service_unavailable', 'There was no time left to ask it.');
  const scraped = await nodeMetrics.raw(NodeId.parse(id), 'wireguard', signal);
  if (!scraped.ok) return scraped;
  const all = pathsIn(await samplesInTurns(scraped.value.text.toString('utf8'), new Set([PATHS, HANDSHAKES])), nowMs);
  return ok([...new Map(all.map((one) => [one.node_id, one])).values()]);
}

function pathsIn(samples: Samples, nowMs: number): readonly MemberPath[] {
  const handshakes = new Map(
    samples.get(HANDSHAKES)?.map(({ labels, value }) => [labels.get('public_key'), value]) ?? [],
  );
  return (samples.get(PATHS) ?? []).flatMap((sample): MemberPath[] => {
    const to = peerOf(sample);
    const path = VPN_PATHS.find((one) => one === sample.labels.get('path'));
    const atSeconds = handshakes.get(sample.labels.get('public_key')) ?? 0;
    if (to === undefined || path === undefined) return [];
    return [
      {
        node_id: to,
        path,
        // by the clock of the machine: what lies ahead of ours is now
        handshake_age_seconds: atSeconds > 0 ? Math.max(0, Math.round(nowMs / 1_000 - atSeconds)) : null,
      },
    ];
  });
}

/** The peer that a sample is of; null: the gateway; undefined: nobody. */
function peerOf({ labels }: Sample): string | null | undefined {
  const named = labels.get('friendly_name') ?? '';
  if (named === GATEWAY) return null;
  const id = NodeId.safeParse(named);
  return id.success ? id.data : undefined;
}
