/** The network as this machine was told of it last. Pure, but for its file. */
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { MESH_PEERS_MAX, MeshNetwork, MeshPeer, MeshRevision } from '../../transport/protocol/mesh.ts';
import { writeDurably } from '../durable-file.ts';
import type { MeshOrder } from '../ports.ts';

/** One state of the network. `peers` by public key. */
export interface Picture {
  readonly revision: MeshRevision;
  readonly network: MeshNetwork;
  readonly peers: ReadonlyMap<string, MeshPeer>;
}

const PictureFile = z.object({ revision: MeshRevision, network: MeshNetwork, peers: z.array(MeshPeer).max(MESH_PEERS_MAX) });

/** A whole network. */
export function wholePicture({ revision, network, peers }: Extract<MeshOrder, { type: 'mesh-network' }>): Picture {
  return { revision, network, peers: new Map(peers.map((peer) => [peer.public_key, peer])) };
}

/** The picture after a change; null when the change follows another state than this one. */
export function changedPicture(known: Picture | null, { from, to, set, removed }: Extract<MeshOrder, { type: 'mesh-changed' }>): Picture | null {
  if (known === null || known.revision.epoch !== from.epoch || known.revision.number !== from.number) return null;
  const peers = new Map(known.peers);
  for (const key of removed) peers.delete(key);
  for (const peer of set) peers.set(peer.public_key, peer);
  return { ...known, revision: to, peers };
}

/** What an earlier run stored: with it the machine is in its network before any admin answers. Null: nothing usable. */
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

/** Removes what was stored, as far as that can be done: there is no such network any more. */
export function forgetPicture(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the next start is in the old network until an admin answers
  }
}
