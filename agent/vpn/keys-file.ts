/** The WireGuard key of this machine: made here, kept here, told to nobody. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Log } from '../../transport/net/log.ts';
import { WireguardKey } from '../../transport/protocol/wireguard.ts';
import { makeKeyPair, publicKeyOf } from '../../transport/vpn/wireguard/keys.ts';
import { writeDurably } from '../durable-file.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from '../problem.ts';

/**
 * Ports from which one is picked: above those that services are registered for, below those that systems give away. Two
 * machines behind one NAT must not share one.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_767;

const VpnKeysFile = z.object({
  private_key: WireguardKey,
  /** Takes the place of the other as soon as the others know it: a rotation under way. Damaged: nobody knows it. */
  next_private_key: WireguardKey.nullable().catch(null),
  listen_port: z.int().min(1).max(65_535),
});

/** The key in use, the one that is to follow, and the UDP port. */
export interface VpnKeys {
  readonly privateKey: string;
  readonly nextPrivateKey: string | null;
  readonly listenPort: number;
}

/** The keys, and whether those of the file were damaged; or why there are none, in one sentence. */
export type OpenedVpnKeys =
  | { readonly ok: true; readonly keys: VpnKeys; readonly wasDamaged?: boolean }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads them, or makes them when there are none. `port`: 0 keeps the one of the file, or picks one. A damaged file is
 * made anew: the VPN takes the new key as a rotation. A key that was to follow and is damaged is none, in the file too.
 * A file that cannot be read now may be whole: it stays as it is.
 */
export function openVpnKeys(path: string, port: number): OpenedVpnKeys {
  const found = read(path);
  if ('problem' in found) return { ok: false, problem: found.problem };
  const { keys: stored, wasDamaged } = found;
  const keys =
    stored === null
      ? {
          privateKey: makeKeyPair().privateKey,
          nextPrivateKey: null,
          listenPort: port === 0 ? randomInt(PORT_MIN, PORT_MAX + 1) : port,
        }
      : { ...stored, listenPort: port === 0 ? stored.listenPort : port };
  const isStored = keys.listenPort === stored?.listenPort;
  const opened: OpenedVpnKeys = isStored && !wasDamaged ? { ok: true, keys } : storeVpnKeys(path, keys);
  if (opened.ok) return { ...opened, wasDamaged };
  // the key in use is whole: a disk that takes nothing costs the machine no VPN
  return isStored ? { ok: true, keys, wasDamaged } : opened;
}

/** Stores them durably. */
export function storeVpnKeys(path: string, keys: VpnKeys): OpenedVpnKeys {
  try {
    writeDurably(
      path,
      `${JSON.stringify({ private_key: keys.privateKey, next_private_key: keys.nextPrivateKey, listen_port: keys.listenPort })}\n`,
    );
    return { ok: true, keys };
  } catch (error) {
    return { ok: false, problem: `the WireGuard key cannot be stored: ${systemProblem(error)}` };
  }
}

/** The keys of a running agent: those of the file, and one that is to follow. */
export class OwnKeys {
  readonly #path: string;
  readonly #port: number;
  readonly #log: Log;
  #keys: VpnKeys | null = null;

  /** `port`: 0 keeps the one of the file, or picks one. */
  constructor(path: string, port: number, log: Log) {
    this.#path = path;
    this.#port = port;
    this.#log = log;
  }

  /** Null: they were not opened. */
  get held(): VpnKeys | null {
    return this.#keys;
  }

  /** Reads them, or makes them. The problem in one sentence; null: they are held. */
  open(): string | null {
    const opened = openVpnKeys(this.#path, this.#port);
    if (!opened.ok) return opened.problem;
    if (opened.wasDamaged === true)
      this.#log.warn(
        { path: this.#path },
        'The file of the WireGuard key was damaged: a key in use is made anew, one that was to follow is left out',
      );
    this.#keys = opened.keys;
    return null;
  }

  /** Makes the key that is to follow, unless there is one. The problem in one sentence; null: it is stored. */
  makeNext(): string | null {
    const problem = this.#keys === null ? this.open() : null;
    if (this.#keys === null) return problem;
    const stored = storeVpnKeys(this.#path, {
      ...this.#keys,
      nextPrivateKey: this.#keys.nextPrivateKey ?? makeKeyPair().privateKey,
    });
    if (!stored.ok) return stored.problem;
    this.#keys = stored.keys;
    return null;
  }

  /**
   * The others know this public key: if it is the one that is to follow, it is the one from now on, also where that
   * cannot be stored, and the log is told. Else nothing happens.
   */
  turnTo(publicKey: string): void {
    const next = this.#keys?.nextPrivateKey ?? null;
    if (this.#keys === null || next === null || publicKeyOf(next) !== publicKey) return;
    this.#keys = { ...this.#keys, privateKey: next, nextPrivateKey: null };
    const stored = storeVpnKeys(this.#path, this.#keys);
    this.#log.info(stored.ok ? {} : { problem: stored.problem }, 'The WireGuard key was changed');
  }
}

/** The public key in use; null: there is no file, or it is damaged. Throws an `AgentProblem` when it cannot be read. */
export function storedPublicKey(path: string): string | null {
  const found = read(path);
  if ('problem' in found) throw new AgentProblem(found.problem, EXIT_STATUS.failed);
  return found.keys === null ? null : publicKeyOf(found.keys.privateKey);
}

/** What the file says. Null: none yet, or damaged, where a new one is as good. A problem: it is not known. */
type Found = { readonly keys: VpnKeys | null; readonly wasDamaged: boolean } | { readonly problem: string };

function read(path: string): Found {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { keys: null, wasDamaged: false };
    return { problem: `the WireGuard key cannot be read: ${systemProblem(error)}` };
  }
  try {
    const stored = JSON.parse(text) as unknown;
    const {
      private_key: privateKey,
      next_private_key: nextPrivateKey,
      listen_port: listenPort,
    } = VpnKeysFile.parse(stored);
    const { next_private_key: storedNext } = stored as z.input<typeof VpnKeysFile>;
    return { keys: { privateKey, nextPrivateKey, listenPort }, wasDamaged: nextPrivateKey !== (storedNext ?? null) };
  } catch {
    return { keys: null, wasDamaged: true };
  }
}
