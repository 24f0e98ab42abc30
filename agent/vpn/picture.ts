/** The VPN as this machine was told of it last. Pure, but for its file. */
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import {
  VPN_PEERS_MAX,
  VpnMembership,
  VpnRevision,
  soundPeers,
  ToldVpnPeer,
  type LeftOutPeer,
  type VpnPeer,
} from '../../transport/protocol/vpn.ts';
import { writeDurably } from '../durable-file.ts';
import type { AdminVpnFrame } from '../ports.ts';

/**
 * One state of the VPN. `peers` by public key, those alone that an interface takes; the others are `leftOut`, by
 * what stands for their key.
 */
export interface Picture {
  readonly revision: VpnRevision;
  readonly network: VpnMembership;
  readonly peers: ReadonlyMap<string, VpnPeer>;
  readonly leftOut: ReadonlyMap<string, LeftOutPeer>;
}

const PictureFile = z.object({
  revision: VpnRevision,
  network: VpnMembership,
  peers: z.array(ToldVpnPeer).max(VPN_PEERS_MAX),
});

/** A whole VPN. */
export function wholePicture({ revision, network, peers }: Extract<AdminVpnFrame, { type: 'mesh-network' }>): Picture {
  return { revision, network, ...joined(new Map(), new Map(), peers) };
}

/** The picture after a change; null when the change follows another state than this one. */
export function changedPicture(
  known: Picture | null,
  { from, to, set, removed }: Extract<AdminVpnFrame, { type: 'mesh-changed' }>,
): Picture | null {
  if (known === null || known.revision.epoch !== from.epoch || known.revision.number !== from.number) return null;
  const peers = new Map(known.peers);
  const leftOut = new Map(known.leftOut);
  for (const key of removed) {
    peers.delete(key);
    leftOut.delete(key);
  }
  return { ...known, revision: to, ...joined(peers, leftOut, set) };
}

/** Takes in those that are told now. */
function joined(
  peers: Map<string, VpnPeer>,
  leftOut: Map<string, LeftOutPeer>,
  told: readonly VpnPeer[],
): Pick<Picture, 'peers' | 'leftOut'> {
  for (const peer of told) {
    const {
      sound: [sound],
      leftOut: [bad],
    } = soundPeers([peer]);
    if (bad === undefined) leftOut.delete(peer.public_key);
    else peers.delete(peer.public_key);
    if (sound !== undefined) peers.set(peer.public_key, sound);
    if (bad !== undefined) leftOut.set(peer.public_key, bad);
  }
  return { peers, leftOut };
}

/** What an earlier run stored: with it the machine is in its VPN before any admin answers. Null: nothing usable. */
export function readPicture(path: string): Picture | null {
  try {
    return wholePicture({ seq: 1, type: 'mesh-network', ...PictureFile.parse(JSON.parse(readFileSync(path, 'utf8'))) });
  } catch {
    return null; // none yet, or damaged: an admin tells it again
  }
}

/** Throws what the file system says. */
export function storePicture(path: string, { revision, network, peers }: Picture): void {
  writeDurably(path, `${JSON.stringify({ revision, network, peers: [...peers.values()] })}\n`);
}

/** Removes what was stored, as far as that can be done: there is no such VPN any more. */
export function forgetPicture(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the next start is in the old VPN until an admin answers
  }
}
