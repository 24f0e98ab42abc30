/** What an agent says of its place in the VPN. */
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { VpnAdvertisement } from '../../../../transport/protocol/vpn.ts';
import { NOW_MS, SETTINGS } from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);

/** The public key of the node. */
export const KEY = 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=';

/** The public key of somebody else. */
export const OTHER_KEY = '3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0=';

/** Where it is, as it says itself. */
export const SAID: VpnAdvertisement = {
  public_key: KEY,
  listen_port: 51_820,
  endpoints: ['192.168.1.20:51820'],
  relay_region: 900,
  revision: { epoch: 2, number: 7 },
};

/** One step of the node. */
export function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}
