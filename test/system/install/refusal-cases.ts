/** What people and machines do wrong before an agent is installed, and the line that they get. */
import type { Machine } from '../../support/installing/machine.ts';
import { IDLE_PROGRAMS, type MirrorOptions } from '../../support/installing/mirror.ts';

/** Of the form of a key, and of no admin. */
export const KEY = Buffer.from(
  JSON.stringify({ admin_urls: ['http://127.0.0.1:9'], cluster_name: 'prod', nonce: 'x'.repeat(43) }),
).toString('base64url');

/** Programs that stand before the machine's own: what they say is what the script sees. */
type Fakes = Readonly<Record<string, string>>;

/** One of them. */
export interface Case {
  readonly what: string;
  readonly words?: string;
  /** What the mirror does. */
  readonly mirror?: MirrorOptions;
  readonly fakes?: Fakes;
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly before?: (machine: Machine) => void;
  readonly status?: number;
  readonly says: string;
}

const NOTHING = 'Nothing was changed.';
const LEFT = 'What was downloaded whole stays in /var/lib/edge-updater, for the next try.';

/** Words of a call with a key. */
export const WITH_KEY = `--key ${KEY}`;

/** Each with the line that it gets, without the name of the script. */
export const CASES: readonly Case[] = [
  {
    what: 'no key',
    words: '',
    status: 2,
    says: 'no enrollment key was given: edge node add CLUSTER makes one and prints the whole line (--key, --key-file or EDGE_KEY)',
  },
  {
    what: 'a key that was cut',
    words: '--key eyJhZG1pbg',
    status: 2,
    says: 'the enrollment key is none: it should begin with eyJ and be as edge node add printed it',
  },
  {
    what: 'a key with other signs',
    words: "--key 'not a key'",
    status: 2,
    says: 'the enrollment key is none: it holds signs that no key has; copy it whole',
  },
  {
    what: 'a key file that is not there',
    words: '--key-file /root/key',
    status: 2,
    says: '--key-file /root/key cannot be read',
  },
  {
    what: 'two keys',
    words: `${WITH_KEY} --key-file /etc/hostname`,
    before: (machine) => machine.write('/etc/hostname', 'x'),
    status: 2,
    says: '--key and --key-file were both given: one is enough',
  },
  {
    what: 'an unknown option',
    words: '--kye x',
    status: 2,
    says: '--kye is no option of this script: --help lists them',
  },
  { what: 'an option without its value', words: '--key', status: 2, says: '--key takes a value' },
  {
    what: 'a stray word',
    words: `${WITH_KEY} now`,
    status: 2,
    says: 'now is no option of this script: --help lists them',
  },
  {
    what: 'a wrong URL',
    words: `${WITH_KEY} --admin fleet.example`,
    status: 2,
    says: '--admin is "fleet.example": it should be a URL such as https://admin.example.com',
  },
  {
    what: 'a wrong name',
    words: `${WITH_KEY} --name Web_1`,
    status: 2,
    says: '--name is "Web_1": it should be of small letters, digits and hyphens',
  },
  {
    what: 'wrong labels',
    words: `${WITH_KEY} --labels 'env=$(id)'`,
    status: 2,
    says: '--labels is "env=$(id)": it should be like env=prod,site=hall-3',
  },
  {
    what: 'a wrong init',
    words: `${WITH_KEY} --init upstart`,
    status: 2,
    says: '--init is "upstart": it should be systemd, openrc or none',
  },
  {
    what: 'a data directory that no unit can name',
    words: `${WITH_KEY} --init systemd`,
    before: (machine) => machine.write('/etc/edge-agent/agent.env', "AGENT_DATA_DIR='/srv/my edge'\n"),
    says: `AGENT_DATA_DIR in /etc/edge-agent/agent.env is /srv/my edge: systemd needs one without spaces and signs that mean something to it. ${NOTHING}`,
  },
  { what: 'purge without uninstall', words: `${WITH_KEY} --purge`, status: 2, says: '--purge goes with --uninstall' },
  {
    what: 'no root',
    words: WITH_KEY,
    uid: 1_000,
    says: `This has to be run by root: put sudo before sh, or give --user to install it for you alone. ${NOTHING}`,
  },
  {
    what: '--user as root',
    words: `${WITH_KEY} --user`,
    says: `--user is for users other than root: leave it out. ${NOTHING}`,
  },
  {
    what: 'another architecture',
    words: WITH_KEY,
    fakes: { uname: 'case $1 in -m) echo armv7l ;; *) echo Linux ;; esac' },
    says: `There is no agent for armv7l machines: it runs on x86_64 and aarch64. ${NOTHING}`,
  },
  {
    what: 'musl',
    words: WITH_KEY,
    fakes: { getconf: 'exit 1', ldd: 'echo "musl libc (x86_64)" >&2; exit 1' },
    says: `This system is built on musl, and the agent needs glibc 2.28 or later: run it in a container of Debian, or by the OCI image of the agent (docs/containers.md). ${NOTHING}`,
  },
  {
    what: 'an old C library',
    words: WITH_KEY,
    fakes: { getconf: 'echo glibc 2.17' },
    says: `This system has glibc 2.17, and the agent needs glibc 2.28 or later: run it in a container of Debian, or by the OCI image of the agent (docs/containers.md). ${NOTHING}`,
  },
  {
    what: 'no release for this machine',
    words: WITH_KEY,
    mirror: { archs: ['linux-arm64'] },
    says: `This admin has no release for linux-x64 on the channel stable. It has: stable linux-arm64. ${NOTHING}`,
  },
  {
    what: 'no release for a machine of 64-bit ARM',
    words: WITH_KEY,
    fakes: { uname: 'case $1 in -m) echo aarch64 ;; *) echo Linux ;; esac' },
    says: `This admin has no release for linux-arm64 on the channel stable. It has: stable linux-x64. ${NOTHING}`,
  },
  {
    what: 'a channel that is not there',
    words: `${WITH_KEY} --channel beta`,
    says: `This admin has no release for linux-x64 on the channel beta. It has: stable linux-x64. ${NOTHING}`,
  },
  {
    what: 'no room',
    words: WITH_KEY,
    mirror: { told: (file) => ({ ...file, bytes: 400_000_000 }) },
    says: `/var/lib has FREE MiB free, and 1208 MiB are needed: make room there. ${NOTHING}`,
  },
  {
    what: 'an admin that is not reached',
    words: `${WITH_KEY} --admin http://127.0.0.1:9`,
    says: `The download of FILE failed: http://127.0.0.1:9 is not reached: check the network, the firewall and https_proxy. ${LEFT}`,
  },
  {
    what: 'a name that is not known',
    words: `${WITH_KEY} --admin http://fleet.invalid`,
    says: `The download of FILE failed: the name in http://fleet.invalid is not known to this machine: check the URL and the resolver. ${LEFT}`,
  },
  {
    what: 'a release that went meanwhile',
    words: WITH_KEY,
    mirror: { sends: () => null },
    says: `The download of FILE failed: URL does not serve NAME: publish the release again, or run the line again where it has changed meanwhile. ${LEFT}`,
  },
  {
    what: 'a mirror that sends garbage',
    words: WITH_KEY,
    mirror: { sends: (_, good) => Buffer.alloc(good.length, 'x') },
    says: `URL serves other bytes as FILE than it said: run the line again, and if it stays so, do not trust that mirror. ${LEFT}`,
  },
  {
    what: 'a runtime that lacks a library',
    words: WITH_KEY,
    mirror: {
      programs: {
        ...IDLE_PROGRAMS,
        node: '#!/bin/sh\necho "node: error while loading shared libraries: libstdc++.so.6: cannot open" >&2\nexit 127\n',
      },
    },
    says: `The library libstdc++ is not on this machine: install it (Debian: apt-get install libstdc++6). ${LEFT}`,
  },
  {
    what: 'an updater that refuses the release',
    words: WITH_KEY,
    mirror: {
      programs: {
        ...IDLE_PROGRAMS,
        node: '#!/bin/sh\n[ "$1" = --version ] || { echo "edge-updater: the metadata has expired" >&2; exit 1; }\n',
      },
    },
    says: `The release was not accepted: the metadata has expired. ${LEFT}`,
  },
  {
    what: 'the agent of a package',
    words: WITH_KEY,
    before: (machine) => machine.write('/usr/lib/systemd/system/edge-agent.service', ''),
    says: `A package of this system brings the agent (/usr/lib/systemd/system/edge-agent.service): use that one, or remove the package first. ${NOTHING}`,
  },
  {
    what: 'another agent that runs',
    words: WITH_KEY,
    before: (machine) => machine.write('/var/lib/edge-agent/agent.pid', '1\n'),
    says: `An agent that was not installed by this script runs on /var/lib/edge-agent (process 1): stop it first. Its identity is taken over. ${NOTHING}`,
  },
  {
    what: 'a root of releases that does not lead to the one here',
    words: WITH_KEY,
    before: (machine) => machine.write('/var/lib/edge-updater/trust/root.json', '{"of": "keys that were lost"}'),
    says: `This machine trusts another root of releases than this admin serves: to trust this one instead, run the line with --uninstall first, and then as it is; the node stays the same. ${NOTHING}`,
  },
];
