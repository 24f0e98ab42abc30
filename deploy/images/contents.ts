/** What is in each image, beside the system below it, and how it is run. */
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import type { ImageConfig } from './layout.ts';

/** Who runs what needs no root. The number that distroless images have for it. */
export const NOBODY = 65_532;

/** Where programs, the runtime and what is kept are in an image. */
const PROGRAMS = '/opt/edge';
const NODE = '/usr/local/bin/node';
const DATA = '/var/lib/edge';
const TINI = '/usr/bin/tini';

/**
 * Packages of Debian below. The admin has what Node needs and nothing to start a shell with. Agents run commands: they
 * have the essential ones, what the VPN needs, and somebody who reaps what commands leave behind.
 */
export const SYSTEMS = {
  bare: { variant: 'extract', packages: ['libc6', 'libgcc-s1', 'libstdc++6', 'netbase'] },
  shell: {
    variant: 'essential',
    packages: ['ca-certificates', 'iproute2', 'libstdc++6', 'nftables', 'procps', 'tini', 'wireguard-tools'],
  },
} as const;

/** A system by its name. */
export type SystemName = keyof typeof SYSTEMS;

/** One image, before its layers are made. */
export interface ImagePlan {
  readonly name: string;
  readonly system: SystemName;
  readonly program: 'admin' | 'agent';
  readonly config: ImageConfig;
}

const REVISION = 'org.opencontainers.image.revision';

const COMMON = {
  volumes: [DATA],
  healthCheck: [NODE, `${PROGRAMS}/health-check.mjs`],
} as const;

const ADMIN = {
  ...COMMON,
  user: `${NOBODY}:${NOBODY}`,
  entrypoint: [NODE, `${PROGRAMS}/edge-admin.js`],
  environment: { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_ENV: 'production', DATA_DIR: DATA },
};

const AGENT = {
  ...COMMON,
  entrypoint: [TINI, '--', NODE, `${PROGRAMS}/edge-agent.cjs`],
  command: ['up'],
  environment: {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODE_ENV: 'production',
    AGENT_DATA_DIR: DATA,
  },
  ports: ['40022/tcp', '44000/tcp', '49100/tcp'],
};

/** All images. `revision`: of the sources; empty: not known. */
export function imagePlans(revision: string): readonly ImagePlan[] {
  const labels = (title: string, description: string) => ({ labels: labelsOf(title, description, revision) });
  return [
    {
      name: 'admin',
      system: 'bare',
      program: 'admin',
      config: {
        ...ADMIN,
        command: ['serve'],
        ports: ['44000/tcp', '43128/tcp', '41080/tcp'],
        ...labels('edge-admin', 'The control service of an edge fleet'),
      },
    },
    {
      name: 'relay',
      system: 'bare',
      program: 'admin',
      config: {
        ...ADMIN,
        command: ['relay'],
        // below 1024 nobody but root listens everywhere
        environment: { ...ADMIN.environment, RELAY_PORT: '8443' },
        ports: ['8443/tcp'],
        ...labels('edge-relay', 'A relay for nodes that do not reach each other directly'),
      },
    },
    {
      name: 'agent',
      system: 'shell',
      program: 'agent',
      config: { ...AGENT, user: '0:0', ...labels('edge-agent', 'The agent of an edge fleet') },
    },
    {
      name: 'agent-rootless',
      system: 'shell',
      program: 'agent',
      config: {
        ...AGENT,
        user: `${NOBODY}:${NOBODY}`,
        ...labels('edge-agent', 'The agent of an edge fleet, without root and so without a VPN'),
      },
    },
  ];
}

function labelsOf(title: string, description: string, revision: string) {
  return {
    'org.opencontainers.image.title': title,
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.version': packageFile.version,
    'org.opencontainers.image.licenses': packageFile.license,
    ...(revision !== '' && { [REVISION]: revision }),
  };
}

/** Adds our user to a system below `$1`, and where programs may write what need not last. Run by mmdebstrap. */
export const USERS_HOOK = [
  'mkdir -p "$1/etc" "$1/tmp" "$1/var/lib"',
  'chmod 1777 "$1/tmp"',
  '{ test -s "$1/etc/passwd" || echo root:x:0:0:root:/root:/bin/sh; } >> "$1/etc/passwd"',
  '{ test -s "$1/etc/group" || echo root:x:0:; } >> "$1/etc/group"',
  `echo edge:x:${NOBODY}:${NOBODY}:edge:${DATA}:/bin/sh >> "$1/etc/passwd"`,
  `echo edge:x:${NOBODY}: >> "$1/etc/group"`,
].join(' && ');

/** Node, as it runs here. */
export function runtimeFiles(root: string, node: string): void {
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  cpSync(node, join(root, NODE), { dereference: true });
}

/** A program out of the package in `dist`, with the native pieces that lie in `modules`. */
export function programFiles(root: string, program: ImagePlan['program'], dist: string, modules: string): void {
  const target = join(root, PROGRAMS);
  mkdirSync(target, { recursive: true });
  const files =
    program === 'admin'
      ? ['edge-admin.js', 'edge.js', 'programs', 'asyncapi-viewer', 'console', 'package.json']
      : ['edge-agent.cjs'];
  for (const file of [...files, 'LICENSE', 'THIRD_PARTY_LICENSES.txt'])
    if (existsSync(join(dist, file))) cpSync(join(dist, file), join(target, file), { recursive: true });
  cpSync(new URL('health-check.mjs', import.meta.url), join(target, 'health-check.mjs'));
  for (const name of NATIVE[program])
    if (existsSync(join(modules, name)))
      cpSync(join(modules, name), join(target, 'node_modules', name), { recursive: true, dereference: true });
}

/** Native pieces that the programs can do without, for this machine's architecture. */
const NATIVE: Readonly<Record<ImagePlan['program'], readonly string[]>> = {
  admin: ['bufferutil', 'node-gyp-build'],
  agent: ['bufferutil', 'node-gyp-build', '@lydell/node-pty', `@lydell/node-pty-linux-${process.arch}`],
};

/** The directory of what is kept, as it stands in archives. */
export const DATA_ENTRY = DATA.slice(1);

/** Makes it. */
export function dataFiles(root: string): void {
  mkdirSync(join(root, DATA), { recursive: true });
}
