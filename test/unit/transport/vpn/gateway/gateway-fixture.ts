/** A gateway with clusters, a firewall and an interface that a test holds. */
import type { AdminFrameBody } from '../../../../../transport/protocol/frames.ts';
import type { ClusterId } from '../../../../../transport/protocol/ids.ts';
import type { CreatedMember } from '../../../../../transport/vpn/member/create-member.ts';
import type { GatewayPlace } from '../../../../../transport/vpn/gateway/advertisement.ts';
import { Gateway } from '../../../../../transport/vpn/gateway/gateway.ts';
import { GATEWAY_ROUND_MS } from '../../../../../transport/vpn/gateway/rounds.ts';
import type { ListenerAddress, Firewall } from '../../../../../transport/vpn/gateway/firewall.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/log.ts';
import type { Scope } from '../../../../support/scope.ts';
import { key, recordingMember, settled } from './fixture.ts';
import type { RecordingMember } from './fixture.ts';

/** The key of the gateway. */
export const OWN = key(65_535);

interface Given {
  readonly isEnabled?: boolean;
  readonly peersMax?: number;
  readonly addressesMax?: number;
  readonly host?: string;
  readonly refused?: string;
  readonly firewallProblem?: string;
}

/** A gateway, and what it says to whom. */
export function fixture(
  t: Scope,
  { isEnabled = true, peersMax = 100, addressesMax = 200, host, refused, firewallProblem }: Given = {},
) {
  const clock = createFakeClock();
  const log = recordingLog();
  const owned = new Map<ClusterId, number>();
  const stored: { cluster: ClusterId; epoch: number; place: GatewayPlace }[] = [];
  const sent: AdminFrameBody[] = [];
  const firewalls: (readonly ListenerAddress[])[] = [];
  const order: string[] = [];
  const members: RecordingMember[] = [];
  const firewall: Firewall = {
    async raise(listeners) {
      firewalls.push(listeners);
      order.push('firewall');
      const tookMs = made.timeoutsMs.shift();
      if (tookMs === undefined) return (listeners.length > 0 ? made.listenersProblem : null) ?? made.firewallProblem;
      clock.pass(tookMs);
      return 'nft took too long';
    },
    holdApart: async () => made.isThere,
    async remove() {
      order.push('no firewall');
    },
  };
  const made = {
    refused,
    firewallProblem: firewallProblem ?? null,
    /** Of rules for listeners alone. */
    listenersProblem: null as string | null,
    /** The next ones take so long each, and fail. */
    timeoutsMs: [] as number[],
    database: true,
    isThere: true,
    isFresh: true,
    isPlain: true,
  };
  const gateway = new Gateway({
    clock,
    log,
    monotonicMs: () => clock.nowMs(),
    keys: { privateKey: 'private', publicKey: OWN },
    firewall,
    host: host ?? null,
    limits: { peersMax, addressesMax },
    open: isEnabled
      ? async (wanted, ports): Promise<CreatedMember> => {
          order.push('interface');
          if (made.refused !== undefined) return { ok: false, problem: made.refused };
          const one = recordingMember(wanted, ports);
          members.push(one);
          return { ok: true, member: one };
        }
      : null,
    epochOf: (cluster) => owned.get(cluster) ?? null,
    isFresh: (cluster) => owned.has(cluster) && made.isFresh,
    isPlain: () => made.isPlain,
    async store(cluster, epoch, place) {
      if (!made.database) throw new Error('away');
      stored.push({ cluster, epoch, place });
      return true;
    },
    send: (_node, frame) => {
      sent.push(frame);
    },
    followRelayMap: () => () => {},
    upgrade: (_request, socket) => {
      socket.destroy();
    },
  });
  t.teardown(() => gateway.close());
  const pass = async (ms = GATEWAY_ROUND_MS): Promise<void> => {
    clock.pass(ms);
    await settled();
  };
  const lines = (): readonly string[] =>
    log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  return { gateway, clock, log, owned, stored, sent, firewalls, order, members, made, pass, lines };
}
