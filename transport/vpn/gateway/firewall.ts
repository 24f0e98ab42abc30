/**
 * What keeps members of VPNs from everything of this machine but the gateway's listeners, and from each other's
 * VPNs: rules of the interface of the gateway alone, in an nftables table of its own. They stand before the
 * interface does.
 */
import { writeFile } from 'node:fs/promises';
import { execute } from '../../net/execute.ts';

/** What members may reach. */
export interface ListenerAddress {
  readonly ipv4: string;
  readonly port: number;
}

/** The rules of one interface. */
export interface Firewall {
  /** Members reach these and nothing else. Null: it stands; else why not, in one sentence. Never rejects. */
  raise(listeners: readonly ListenerAddress[]): Promise<string | null>;
  /**
   * The interface forwards nothing, whatever the machine does; asked for again and again, for it may be made anew.
   * False: there is no interface. Never rejects.
   */
  holdApart(): Promise<boolean>;
  /** Takes the rules away. Never rejects. */
  remove(): Promise<void>;
}

/**
 * Where the system has its programs. Not where the path leads: a package of npm has a program nft too, which takes
 * everything and does nothing.
 */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin';

/** Timeout of nft, in ms. */
const NFT_MS_MAX = 5_000;

/**
 * Before rules of others, such as those of container programs that let packets through. Source: nft(8), `filter` is 0.
 */
const PRIORITY = -50;

/**
 * The firewall of the interface of this name. `nft` is the program; `sysctls` the directory of the kernel's settings.
 */
export function createFirewall(
  interfaceName: string,
  { nft = 'nft', sysctls = '/proc/sys' }: { readonly nft?: string; readonly sysctls?: string } = {},
): Firewall {
  const table = `inet ${interfaceName}`;
  return {
    async raise(listeners) {
      try {
        await run(nft, rules(table, interfaceName, listeners));
        const stands = await run(nft, `list table ${table}\n`); // whatever program it was that took them
        return stands.includes(`iifname "${interfaceName}" jump members`) ? null : NOT_RAISED;
      } catch (error) {
        return isMissing(error)
          ? 'the program nft, which keeps members from other services of this machine, is not there'
          : NOT_RAISED;
      }
    },
    async holdApart() {
      // IPv4 asks the interface where a packet came in. IPv6 asks the whole machine: there the table stands alone.
      const [isThere] = await Promise.all(
        ['ipv4', 'ipv6'].map((family) =>
          writeFile(`${sysctls}/net/${family}/conf/${interfaceName}/forwarding`, '0').then(
            () => true,
            (error: unknown) => !isMissing(error),
          ),
        ),
      );
      return isThere === true;
    },
    async remove() {
      await run(nft, `add table ${table}\ndelete table ${table}\n`).catch(() => '');
    },
  };
}

/**
 * The whole table in one transaction: there is no moment without it. `add` before `delete`, which fails where there is
 * none.
 */
function rules(table: string, interfaceName: string, listeners: readonly ListenerAddress[]): string {
  const open =
    listeners.length === 0
      ? ''
      : `ip daddr . tcp dport { ${listeners.map(({ ipv4, port }) => `${ipv4} . ${port}`).join(', ')} } accept`;
  return `add table ${table}
delete table ${table}
table ${table} {
  chain members {
    ${open}
    icmp type { echo-request, echo-reply, destination-unreachable, time-exceeded } accept
    icmpv6 type { echo-request, echo-reply, destination-unreachable, packet-too-big, time-exceeded } accept
    drop
  }
  chain input {
    type filter hook input priority ${PRIORITY}; policy accept;
    iifname "${interfaceName}" jump members
  }
  chain forward {
    type filter hook forward priority ${PRIORITY}; policy accept;
    iifname "${interfaceName}" drop
    oifname "${interfaceName}" drop
  }
}
`;
}

const NOT_RAISED = 'nft could not set the rules that keep members from other services of this machine';

/** What it says. */
function run(nft: string, input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const running = execute(
      nft,
      ['-f', '-'],
      { timeout: NFT_MS_MAX, killSignal: 'SIGKILL', encoding: 'utf8', env: { PATH: SYSTEM_PATH } },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    );
    running?.stdin?.on('error', () => {}).end(input);
  });
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
