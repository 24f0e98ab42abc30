/**
 * An Ethernet switch with cables to machines and routers, which can be cut, one way too, and kept apart from each
 * other.
 */
import { layCable, type Namespace } from './namespace.ts';

/** Which way. `out`: what the one at the end of the cable sends. */
export type Direction = 'out' | 'in';

/** The cable of one machine or router. */
export interface Link {
  /** Packets are lost without a sign, both ways unless one is named; the interface does not notice. */
  cut(direction?: Direction): Promise<void>;
  /** Packets of more bytes are lost without a sign, both ways; the interface does not notice. */
  setMtu(bytes: number): Promise<void>;
  /** All that `cut` did is undone. */
  restore(): Promise<void>;
}

/** A plug of a switch. */
export interface Port {
  readonly ethernet: Ethernet;
  readonly name: string;
}

/** The switch. Made in a namespace, as a bridge of this name. */
export class Ethernet {
  readonly #namespace: Namespace;
  readonly #bridge: string;
  /** Rules of nft by what they are for. */
  readonly #before = new Map<string, string>();
  readonly #between = new Map<string, string>();
  readonly #after = new Map<string, string>();
  #ports = 0;
  /** nft one after another: each puts the whole table there. */
  #written: Promise<void> = Promise.resolve();

  private constructor(namespace: Namespace, bridge: string) {
    this.#namespace = namespace;
    this.#bridge = bridge;
  }

  static async create(namespace: Namespace, bridge: string): Promise<Ethernet> {
    await namespace.shell(
      `ip link add ${bridge} type bridge stp_state 0 forward_delay 0\nip link set ${bridge} addrgenmode none up`,
    );
    return new Ethernet(namespace, bridge);
  }

  /** Plugs in a namespace; at its end the interface has this name, and is up without an address. */
  async plug(other: Namespace, end: string): Promise<Port> {
    this.#ports += 1;
    const name = `port${this.#ports}`;
    await layCable(this.#namespace, name, other, end);
    await this.#namespace.shell(`ip link set ${name} addrgenmode none\nip link set ${name} master ${this.#bridge} up`);
    await other.shell(`ip link set ${end} addrgenmode none up`);
    return { ethernet: this, name };
  }

  /** The cable at a port. */
  link({ name }: Port): Link {
    return {
      cut: (direction) => {
        if (direction !== 'in') this.#before.set(name, `iifname "${name}" drop`);
        if (direction !== 'out') this.#after.set(name, `oifname "${name}" drop`);
        return this.#write();
      },
      setMtu: async (bytes) => {
        await this.#namespace.shell(`ip link set ${name} mtu ${bytes}`);
      },
      restore: () => {
        this.#before.delete(name);
        this.#after.delete(name);
        return this.#write();
      },
    };
  }

  /** What `from` sends does not reach `to` any more, or does again. */
  keepApart(from: Port, to: Port, isApart: boolean): Promise<void> {
    const key = `${from.name} ${to.name}`;
    if (isApart) this.#between.set(key, `iifname "${from.name}" oifname "${to.name}" drop`);
    else this.#between.delete(key);
    return this.#write();
  }

  #write(): Promise<void> {
    const chain = (hook: string, rules: Iterable<string>) =>
      `chain ${hook} {\n type filter hook ${hook} priority 0; policy accept;\n${[...rules].join('\n')}\n}\n`;
    const script = `table bridge faults\ndelete table bridge faults\ntable bridge faults {\n${chain('prerouting', this.#before.values())}${chain('forward', this.#between.values())}${chain('postrouting', this.#after.values())}}\n`;
    this.#written = this.#written.then(() => this.#namespace.nft(script));
    return this.#written;
  }
}
