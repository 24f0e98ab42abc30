/** What a WireGuard interface may cost, and how long the system may take for it. */
import { WIREGUARD_PEERS_MAX } from '../../protocol/wireguard.ts';

/** Limits of one answer over the socket of an interface. */
export interface AnswerLimits {
  readonly answerBytesMax: number;
  /** The longest real line is a key of 64 digits with its name. */
  readonly lineBytesMax: number;
  /** From the connection to the end of the answer. */
  readonly answerMsMax: number;
}

/** Limits of an interface that is programmed here. */
export interface DeviceLimits extends AnswerLimits {
  /** Of one interface. */
  readonly peersMax: number;
  /** Ranges of one peer. */
  readonly allowedIpsMax: number;
  /** Addresses of the interface. */
  readonly addressesMax: number;
  /** Calls that wait for the ones before them; one more is refused. */
  readonly waitingCallsMax: number;
  /** Questions to wireguard-go in a row that had no answer: with this one the interface counts as lost. */
  readonly unansweredMax: number;
  /** One run of `ip` or `wg`. */
  readonly programMsMax: number;
  /** What such a run may say. */
  readonly programBytesMax: number;
  /** From the start of wireguard-go until it answers and has its port. */
  readonly startMsMax: number;
  /** From the removal of an interface until its program is gone. */
  readonly endMsMax: number;
  /**
   * From the end of wireguard-go until the kernel has taken away its interface; one that stays for longer is somebody
   * else's.
   */
  readonly goneMsMax: number;
  /** Between two looks at what another program does. */
  readonly lookMs: number;
}

/**
 * Sources: a gateway's merged network is bounded by `peersMax` and `addressesMax`, and ADMIN_MAX_WIREGUARD_PEERS by the
 * first; wireguard-go takes 65,536 peers (device/constants.go, MaxPeers), and a peer takes some 400 bytes of an answer
 * (measured); wireguard-go answers 20 to 50 ms after its start on two busy cores (measured), so that the waits are far
 * above what anything takes.
 */
export const DEVICE_LIMITS: DeviceLimits = {
  peersMax: WIREGUARD_PEERS_MAX,
  allowedIpsMax: 16,
  addressesMax: 2_048,
  waitingCallsMax: 256,
  answerBytesMax: 33_554_432,
  lineBytesMax: 1_024,
  answerMsMax: 10_000,
  unansweredMax: 3,
  programMsMax: 10_000,
  programBytesMax: 33_554_432,
  startMsMax: 15_000,
  endMsMax: 10_000,
  goneMsMax: 3_000,
  lookMs: 10,
};

/** Characters of an interface's name. Source: IFNAMSIZ of Linux, 16 with its end. */
export const NAME_CHARACTERS_MAX = 15;

/** Bounds of an MTU here. Sources: RFC 791, 3.2 (68); a packet of UDP (65,535) less 80 bytes of WireGuard over IPv6. */
export const MTU_BOUNDS = { min: 68, max: 65_455 } as const;
