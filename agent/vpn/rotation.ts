/** `edge-agent rotate-key`: a new WireGuard key, by the running agent, or for the next one. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { makeKeyPair } from '../../transport/vpn/wireguard/keys.ts';
import { VPN_KEYS_FILE, openDataDirectory, PID_FILE } from '../data-directory.ts';
import { AgentProblem, EXIT_STATUS } from '../problem.ts';
import { openVpnKeys, storeVpnKeys, storedPublicKey } from './keys-file.ts';

/** Tells a running agent that its key is to be changed. */
export const ROTATION_SIGNAL = 'SIGUSR2';

/** Wait for the admin that has to tell the others, in ms. */
const ROTATION_MS_MAX = 30_000;
const LOOK_MS = 100;

/** Changes the key, and resolves with what happened, in one sentence. Throws an `AgentProblem` when it did not. */
export async function rotateKey(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, VPN_KEYS_FILE);
  const before = storedPublicKey(path);
  if (before === null)
    throw new AgentProblem(
      'This machine has no WireGuard key yet: it gets one when it joins the VPN of its cluster',
      EXIT_STATUS.failed,
    );
  const running = runningAgent(dataDirectory);
  if (running === null) return rotateAtRest(path);
  process.kill(running, ROTATION_SIGNAL);
  for (let waitedMs = 0; waitedMs < ROTATION_MS_MAX; waitedMs += LOOK_MS) {
    if (storedPublicKey(path) !== before)
      return 'The WireGuard key was changed, and the other machines know the new one';
    await sleep(LOOK_MS);
  }
  throw new AgentProblem(
    `No admin took the new WireGuard key within ${ROTATION_MS_MAX / 1_000} s: the old one is used until one does`,
    EXIT_STATUS.failed,
  );
}

/** The process of the agent that has this directory; null: nobody has. */
function runningAgent(dataDirectory: string): number | null {
  try {
    openDataDirectory(dataDirectory).release();
    return null;
  } catch (error) {
    const pid = Number(readFileSync(join(dataDirectory, PID_FILE), 'utf8').trim());
    if (!Number.isSafeInteger(pid) || pid < 2) throw error;
    return pid;
  }
}

function rotateAtRest(path: string): string {
  const opened = openVpnKeys(path, 0);
  const stored = opened.ok ? storeVpnKeys(path, { ...opened.keys, nextPrivateKey: makeKeyPair().privateKey }) : opened;
  if (!stored.ok) throw new AgentProblem(stored.problem, EXIT_STATUS.failed);
  return 'The agent does not run: it changes its WireGuard key when it starts';
}
