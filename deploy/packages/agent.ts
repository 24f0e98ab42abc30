/** The packages of a managed machine. They bring the first version; later ones come by the updater. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageFile from '../../package.json' with { type: 'json' };
import { AGENT, UPDATER } from '../bundles.ts';
import { LICENSES_FILE } from '../licenses.ts';
import { SBOM_SUFFIX } from '../sbom.ts';
import type { Package, PackedFile } from './contents.ts';
import { REVISION } from './deb.ts';
import type { Ingredients } from './ingredients.ts';
import { manualOf } from './manual.ts';
import { compressed, configuration, program, sbomFile, setup, text, units } from './packed-files.ts';

const LAUNCHER = fileURLToPath(new URL('../launcher.sh', import.meta.url));

/** A machine on which the agent was installed by the one line keeps that: both would have the same places. */
const OTHER_INSTALLATION = {
  file: '/usr/lib/edge/installed-by',
  problem: 'edge-agent was installed here by install.sh: run it with --uninstall first, the identity of the node stays',
};

/** The agent. */
export function agent({ dist, node, architecture, firstVersion, root }: Ingredients): Package {
  return {
    name: 'edge-agent',
    version: packageFile.version,
    architecture,
    section: 'admin',
    summary: 'agent that makes this machine a node of a fleet',
    description: [
      'Keeps a connection to an edge-admin, runs commands and gives people and programs a way to this machine through NAT and firewalls.',
      'The package brings the first version. Which version runs afterwards is decided by edge-updater: an upgrade of this package changes no agent that is there.',
    ],
    license: packageFile.license,
    files: [
      ...firstVersion,
      { path: 'usr/lib/edge/launch', content: { file: LAUNCHER }, mode: 0o755 },
      program('usr/bin/edge-agent', 'edge-agent.sh'),
      ...setup('usr/lib/edge-agent', 'setup-agent.sh'),
      ...(root === null ? [] : [{ path: 'usr/lib/edge-agent/root.json', content: { file: root } }]),
      configuration('etc/edge-agent/agent.env', 'agent.env'),
      ...units('edge-agent'),
      ...documents('edge-agent', dist),
      manualOf('edge-agent', 8, 'makes this machine a node of a cluster', join(dist, AGENT)),
    ],
    depends: {
      // exactly: its runtime is the one with which it was made
      deb: [`edge-runtime (= ${node.version}-${REVISION})`],
      rpm: [`edge-runtime = ${node.version}-${REVISION}`],
    },
    recommends: { deb: ['edge-updater'], rpm: ['edge-updater'] },
    setup: {
      program: '/usr/lib/edge-agent/setup',
      data: ['/var/lib/edge-agent', '/var/lib/edge-updater'],
      refusedBy: OTHER_INSTALLATION,
    },
    lintianOverrides: [
      ['non-standard-file-perm 0600 != 0644 [etc/edge-agent/agent.env]', 'it holds keys'],
      ['script-not-executable [usr/lib/edge-agent/first/*]', 'Node starts them; their bytes are those of the release'],
    ],
  };
}

/** Its updater, which is in each version of the agent: here is what makes it a service. */
export function updater({ dist }: Ingredients): Package {
  return {
    name: 'edge-updater',
    version: packageFile.version,
    architecture: null,
    section: 'admin',
    summary: 'brings edge-agent to the version of its channel, and back',
    description: [
      'Fetches signed releases of the agent, checks them, switches to them, watches whether the agent is well, and goes back by itself where it is not.',
      'The program is part of each version of the agent, and updates itself with it. This package makes it a service of the machine.',
    ],
    license: packageFile.license,
    files: [
      program('usr/bin/edge-updater', 'edge-updater.sh'),
      ...setup('usr/lib/edge-updater', 'setup-updater.sh'),
      configuration('etc/edge-agent/updater.env', 'updater.env'),
      ...units('edge-updater'),
      text('lib/systemd/system/edge-agent.service.d/updater.conf', 'updater.conf'),
      ...documents('edge-updater', dist),
      manualOf(
        'edge-updater',
        8,
        'brings the agent of this machine to the version of its channel',
        join(dist, UPDATER),
      ),
    ],
    depends: { deb: ['edge-agent'], rpm: ['edge-agent'] },
    setup: {
      program: '/usr/lib/edge-updater/setup',
      data: ['token', 'state.json', 'trust', 'downloads'].map((name) => `/var/lib/edge-updater/${name}`),
    },
    lintianOverrides: [['non-standard-file-perm 0600 != 0644 [etc/edge-agent/updater.env]', 'it may hold keys']],
  };
}

function documents(name: string, dist: string): readonly PackedFile[] {
  return [
    compressed(`usr/share/doc/${name}/third-party.txt.gz`, readFileSync(join(dist, LICENSES_FILE))),
    sbomFile(name, readFileSync(join(dist, 'sbom', `${name}${SBOM_SUFFIX}`), 'utf8')),
  ];
}
