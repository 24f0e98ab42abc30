/**
 * Asks other members, by a packet of a length, whether it arrives, and answers those that ask: over UDP on the member's
 * own addresses in the VPN. An answer is short, so that it says nothing but that the long one came in one way.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { BlockList, isIPv6 } from 'node:net';
import { rangesOf } from '../../net/endpoints.ts';
import { fullBucket, take, type BucketLimits, type TokenBucket } from '../../net/token-bucket.ts';

/** On addresses in the VPN alone. Members are told of no other, so it stays what it is. */
export const MTU_ECHO_PORT = 51_819;

/** Headers of a packet of UDP, in bytes. Sources: RFC 768, 791 and 8200. */
const HEADER_BYTES = { ipv4: 28, ipv6: 48 } as const;

/** What a message begins with, and what follows: its kind, and a number that only who was asked knows. */
const MAGIC = Buffer.from('edge-mtu', 'latin1');
const ASK = 1;
const ANSWER = 2;
const NONCE_BYTES = 8;
const MESSAGE_BYTES = MAGIC.length + 1 + NONCE_BYTES;

/**
 * Messages that are heard, of all members together: one asks four a second at most, and a thousand of them each once in
 * several seconds. Who sends more is not listened to, nor is anybody else, until the next call of `listen`.
 */
const HEARD: BucketLimits = { tokensMax: 1_000, tokensPerSecond: 500 };

/** Of one member. Its sockets keep no process alive. */
export class MtuEcho {
  readonly #answered: (address: string, nonce: string) => void;
  readonly #sockets = new Map<string, Socket>();
  /** Where members are. */
  #ranges: BlockList = new BlockList();
  #bucket: TokenBucket = fullBucket(HEARD);

  /** `answered`: the member at this address got the packet with this number, in hex. */
  constructor(answered: (address: string, nonce: string) => void) {
    this.#answered = answered;
  }

  /**
   * Listens at exactly these addresses, which have the prefix lengths of their VPNs. Where one cannot be had (it is not
   * there yet, or another program has the port) members that ask there get no answer, until the next call.
   */
  listen(cidrs: readonly string[]): void {
    this.#ranges = rangesOf(cidrs);
    const addresses = cidrs.map((cidr) => cidr.split('/')[0] ?? '');
    for (const [address, socket] of this.#sockets) {
      if (addresses.includes(address)) continue;
      this.#sockets.delete(address);
      socket.close();
    }
    for (const address of addresses) if (!this.#sockets.has(address)) this.#open(address);
  }

  /** Whether somebody at this address can be asked. */
  canAsk(address: string): boolean {
    return this.#socketFor(address) !== null;
  }

  /** One packet of so many bytes in all, with a number of 16 hex digits. */
  ask(address: string, bytes: number, nonce: string): void {
    const message = Buffer.alloc(bytes - (isIPv6(address) ? HEADER_BYTES.ipv6 : HEADER_BYTES.ipv4));
    MAGIC.copy(message);
    message[MAGIC.length] = ASK;
    message.write(nonce, MAGIC.length + 1, 'hex');
    this.#send(this.#socketFor(address), message, address);
  }

  #open(address: string): void {
    const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4', ipv6Only: isIPv6(address) });
    this.#sockets.set(address, socket);
    socket.on('error', () => {
      // it is without answers until the next call of `listen`, as said there
      if (this.#sockets.get(address) !== socket) return;
      this.#sockets.delete(address);
      socket.close();
    });
    socket.on('message', (message, from) => this.#heard(socket, message, from));
    socket.bind({ address, port: MTU_ECHO_PORT, exclusive: true });
    socket.unref();
  }

  #heard(socket: Socket, message: Buffer, { address, port, family }: RemoteInfo): void {
    const { isTaken, bucket } = take(this.#bucket, HEARD, 1, performance.now());
    this.#bucket = bucket;
    if (!isTaken) return this.listen([]);
    if (message.length < MESSAGE_BYTES || !message.subarray(0, MAGIC.length).equals(MAGIC)) return;
    if (port !== MTU_ECHO_PORT || !this.#ranges.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4')) return;
    const nonce = message.subarray(MAGIC.length + 1, MESSAGE_BYTES);
    if (message[MAGIC.length] === ANSWER) this.#answered(address, nonce.toString('hex'));
    if (message[MAGIC.length] === ASK) this.#send(socket, Buffer.concat([MAGIC, Buffer.of(ANSWER), nonce]), address);
  }

  /** What cannot be sent is as good as lost on its way. */
  #send(socket: Socket | null, message: Buffer, address: string): void {
    socket?.send(message, MTU_ECHO_PORT, address, () => {});
  }

  #socketFor(address: string): Socket | null {
    const family = isIPv6(address);
    for (const [own, socket] of this.#sockets) if (isIPv6(own) === family) return socket;
    return null;
  }
}
