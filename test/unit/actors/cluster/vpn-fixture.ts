/** Members of the VPN of a cluster, and what they are told. */
import { NO_VPN, type ClusterState } from '../../../../actors/cluster/state.ts';
import type { ClusterMessage } from '../../../../actors/cluster/messages.ts';
import { clusterBehaviour } from '../../../../actors/cluster/transition.ts';
import type { Effect } from '../../../../actors/step.ts';
import type { VpnBody } from '../../../../actors/node/messages.ts';
import type { VpnMemberRecord } from '../../../../actors/records.ts';
import type { VpnRevision } from '../../../../transport/protocol/vpn.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { CLUSTER, clusterRecord, id, NOW_MS, SETTINGS } from '../../../support/actors.ts';

const behaviour = clusterBehaviour(SETTINGS);

/** The lease of its owner. */
export const EPOCH = 3;

/** The id of a node. */
export function node(number: number): NodeId {
  return id<NodeId>('b', number);
}

/** The public key of a node. */
export function key(number: number, version = 0): string {
  return Buffer.from(`${version}-${number}`.padEnd(32, 'k')).toString('base64');
}

/** A member as its row has it. */
export function member(number: number, more: Partial<VpnMemberRecord> = {}): VpnMemberRecord {
  return {
    node: node(number),
    ipv4: `100.64.${(number + 1) >> 8}.${(number + 1) & 0xff}`,
    ipv6: `fd00::${number + 1}`,
    publicKey: key(number),
    listenPort: 51_820,
    endpoints: [`192.168.0.${number}:51820`],
    observed: null,
    isStable: null,
    relayRegion: 900,
    aliases: [],
    ...more,
  };
}

/** The gateway as its row has it. */
export const GATEWAY = {
  ipv4: '100.64.0.1',
  ipv6: 'fd00::1',
  publicKey: key(0),
  listenPort: 51_820,
  endpoints: ['203.0.113.1:51820'],
  relayRegion: null,
};

/** A cluster that hears one message after another, and what each member was told. */
export class Listening {
  state: ClusterState = { id: CLUSTER, record: clusterRecord(), vpn: NO_VPN };
  effects: Effect[] = [];
  nowMs = NOW_MS;
  number = 0;

  say(message: ClusterMessage): this {
    const { state, effects } = behaviour.transition(this.state, message, this.nowMs);
    this.state = state;
    this.effects = [...effects];
    return this;
  }

  read(members: readonly VpnMemberRecord[], gateway: typeof GATEWAY | null = null, epoch = EPOCH): this {
    this.number = Math.max(this.number + 1, this.nowMs);
    return this.say({ type: 'vpn-read', epoch, number: this.number, reading: { cluster: CLUSTER, members, gateway } });
  }

  wants(number: number, revision: VpnRevision | null = null): this {
    return this.say({ type: 'vpn-wanted', node: node(number), revision });
  }

  /** Frames to this member by the last message. */
  told(number: number): readonly VpnBody[] {
    return this.effects.flatMap((effect) =>
      effect.type === 'tell' && effect.told.message.type === 'vpn-told' && effect.told.to.id === node(number)
        ? [effect.told.message.body]
        : [],
    );
  }

  get revision(): VpnRevision {
    return this.state.vpn.revision ?? { epoch: 0, number: 0 };
  }
}
