/** The packages: what is in each, for one kind of machine. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { COMPLETION_SCRIPTS } from '../../cli/commands/completion.ts';
import { LICENSES_FILE } from '../licenses.ts';
import { ONE_FILE } from '../one-file.ts';
import { SBOM_SUFFIX } from '../sbom.ts';
import { agent, updater } from './agent.ts';
import type { Content, Package, PackedFile } from './contents.ts';
import type { Ingredients } from './ingredients.ts';
import { manualOf } from './manual.ts';
import type { NativePackage } from './native.ts';
import { compressed, configuration, program, sbomFile, setup, units } from './packed-files.ts';
import { filesBelow } from './tree.ts';

/** Every package. */
export function packagesFrom(made: Ingredients): readonly Package[] {
  return [runtime(made), database(made), admin(made), cli(made), agent(made), updater(made)];
}

/** Node, for the programs of all packages on a machine. As it was published, so that its hash can be compared. */
function runtime({ node, sboms, architecture }: Ingredients): Package {
  const place = 'usr/lib/edge-runtime/bin/node';
  return {
    name: 'edge-runtime',
    version: node.version,
    architecture,
    section: 'javascript',
    summary: 'Node.js runtime of the edge fleet control programs',
    description: [
      'Node.js as its project publishes it, in a directory of its own: it is on no path and replaces no other Node.js.',
    ],
    license: 'MIT',
    files: [
      { path: place, content: { file: join(node.directory, 'bin/node') }, mode: 0o755 },
      compressed('usr/share/doc/edge-runtime/NODE-LICENSES.txt.gz', readFileSync(join(node.directory, 'LICENSE'))),
      sbomFile('edge-runtime', sboms['edge-runtime']),
    ],
    depends: {
      deb: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6 (>= 9)'],
      rpm: ['glibc >= 2.28', 'libstdc++', 'libgcc'],
    },
    lintianOverrides: [
      [`unstripped-binary-or-object [${place}]`, 'as published: its hash is that of the release of Node.js'],
      [`embedded-library *`, 'Node.js is built with its libraries inside'],
      [`hardening-no-pie *`, 'as published'],
    ],
  };
}

/** PostgreSQL for an admin that has no other. */
function database({ postgres, sboms, architecture }: Ingredients): Package {
  const place = `usr/lib/edge-admin/node_modules/${postgres.name}`;
  return {
    name: 'edge-admin-postgresql',
    version: postgres.version.replaceAll('-', '~'),
    architecture,
    section: 'database',
    summary: 'PostgreSQL that edge-admin runs by itself',
    description: [
      'Programs of PostgreSQL, which edge-admin starts on a Unix socket with its data in /var/lib/edge-admin where no DATABASE_URL is set. Several admins need a PostgreSQL of your own in its place.',
    ],
    license: 'PostgreSQL',
    files: [...postgresFiles(postgres, place), sbomFile('edge-admin-postgresql', sboms['edge-admin-postgresql'])],
    depends: {
      deb: ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6'],
      rpm: ['glibc >= 2.28', 'libstdc++', 'libgcc'],
    },
    suggests: { deb: ['edge-admin'], rpm: ['edge-admin'] },
    lintianOverrides: [
      ['embedded-library *', 'it brings the libraries with which it was built and tested'],
      ['unstripped-binary-or-object *', 'as published'],
      ['custom-library-search-path *', 'it finds its own libraries beside it'],
      ['shared-library-lacks-prerequisites *', 'extensions call PostgreSQL alone'],
      ['library-not-linked-against-libc *', 'extensions call PostgreSQL alone'],
    ],
  };
}

/** PostgreSQL's programs below another path. */
export function postgresFiles(postgres: NativePackage, place: string): readonly PackedFile[] {
  return filesBelow(postgres.directory, place)
    .filter(({ path }) => isNeeded(path.slice(place.length + 1)))
    .map((file) => ('link' in file.content || file.path.includes('/native/bin/') ? file : { ...file, mode: 0o644 }));
}

/** Of the package: programs, libraries and what they read; not what programs are compiled and linked with. */
function isNeeded(path: string): boolean {
  return (
    /^(?:package\.json|LICENSE\.md|dist\/index\.js|native\/(?:bin|lib|share)\/)/u.test(path) &&
    !/\.a$|\/(?:pkgconfig|pgxs)\/|\/lib(?:ecpg|pgtypes)/u.test(path)
  );
}

/** The control service, and relays. */
function admin({ dist, architecture }: Ingredients): Package {
  const place = 'usr/lib/edge-admin';
  return {
    name: 'edge-admin',
    version: packageFile.version,
    architecture,
    section: 'admin',
    summary: 'control service of a fleet of edge machines',
    description: [
      'One place from which to reach, run, see and update machines that stand behind NAT and firewalls. Agents on the machines keep a connection to it.',
      'It stores everything in PostgreSQL: its own, with the package edge-admin-postgresql, or the one that DATABASE_URL names.',
    ],
    license: packageFile.license,
    files: [
      ...adminPrograms(dist, place),
      program('usr/bin/edge-admin', 'edge-admin.sh'),
      ...setup(place, 'setup-admin.sh'),
      configuration('etc/edge-admin/admin.env', 'admin.env'),
      configuration('etc/edge-admin/relay.env', 'relay.env'),
      ...units('edge-admin', 'edge-relay'),
      ...filesBelow(join(dist, 'docs'), 'usr/share/doc/edge-admin/pages'),
      ...filesBelow(join(dist, 'deploy'), 'usr/share/doc/edge-admin/examples'),
      compressed('usr/share/doc/edge-admin/third-party.txt.gz', readFileSync(join(dist, LICENSES_FILE))),
      sbomFile('edge-admin', readFileSync(join(dist, 'sbom', `edge-admin${SBOM_SUFFIX}`), 'utf8')),
      manualOf('edge-admin', 8, 'the control service of an edge fleet', join(dist, 'edge-admin.js')),
    ],
    directories: ['var/lib/edge-admin'],
    depends: { deb: ['edge-runtime (>= 24.7)', 'passwd'], rpm: ['edge-runtime >= 24.7', 'shadow-utils'] },
    recommends: { deb: ['edge-admin-postgresql | postgresql'], rpm: ['edge-admin-postgresql'] },
    suggests: { deb: ['edge'], rpm: ['edge'] },
    setup: {
      program: '/usr/lib/edge-admin/setup',
      user: 'edge-admin',
      data: ['/var/lib/edge-admin', '/var/lib/edge-relay', '/var/lib/private/edge-relay', '/etc/edge-admin'],
    },
    lintianOverrides: [
      ['non-standard-file-perm 0600 != 0644 [etc/edge-admin/admin.env]', 'it holds keys'],
      ['non-standard-file-perm 0600 != 0644 [etc/edge-admin/relay.env]', 'it may hold keys'],
    ],
  };
}

/**
 * The program with the chunks to which it leads, and what it serves. Chunks are found by their names, which hold their
 * hash: those of `edge` alone are left out.
 */
export function adminPrograms(dist: string, place: string): readonly PackedFile[] {
  const chunks = new Map(
    globSync('programs/chunks/*.js', { cwd: dist }).map((path) => [basename(path), join(dist, path)]),
  );
  const needed = new Set<string>();
  const follow = (file: string): void => {
    for (const [name] of readFileSync(file, 'utf8').matchAll(/[\w.-]+-[0-9A-Z]{8}\.js/gu)) {
      const chunk = chunks.get(name);
      if (chunk === undefined || needed.has(name)) continue;
      needed.add(name);
      follow(chunk);
    }
  };
  follow(join(dist, 'programs/edge-admin.js'));
  return [
    { path: `${place}/package.json`, content: { file: join(dist, 'package.json') } },
    { path: `${place}/programs/edge-admin.js`, content: called(join(dist, 'programs/edge-admin.js')) },
    ...[...needed].toSorted().map((name) => ({
      path: `${place}/programs/chunks/${name}`,
      content: { file: chunks.get(name) ?? '' },
    })),
    ...filesBelow(join(dist, 'asyncapi-viewer'), `${place}/asyncapi-viewer`),
    ...filesBelow(join(dist, 'console'), `${place}/console`),
  ];
}

/** The command line. */
function cli({ dist }: Ingredients): Package {
  return {
    name: 'edge',
    version: packageFile.version,
    architecture: null,
    section: 'net',
    summary: 'command line of edge fleet control',
    description: [
      'Runs commands on machines of a fleet and shows their output, logs in by SSH, copies files, forwards ports, and manages nodes, clusters, keys and webhooks of an edge-admin.',
    ],
    license: packageFile.license,
    files: [
      { path: 'usr/share/edge-cli/edge', content: called(join(dist, ONE_FILE)) },
      program('usr/bin/edge', 'edge.sh'),
      completion('usr/share/bash-completion/completions/edge', 'bash'),
      completion('usr/share/zsh/vendor-completions/_edge', 'zsh'),
      completion('usr/share/fish/vendor_completions.d/edge.fish', 'fish'),
      compressed('usr/share/doc/edge/third-party.txt.gz', readFileSync(join(dist, LICENSES_FILE))),
      sbomFile('edge', readFileSync(join(dist, 'sbom', `edge${SBOM_SUFFIX}`), 'utf8')),
      manualOf('edge', 1, 'reach, run, see and update machines behind NAT and firewalls', join(dist, ONE_FILE)),
    ],
    depends: { deb: ['edge-runtime (>= 24.7) | nodejs (>= 24.7)'], rpm: ['(edge-runtime >= 24.7 or nodejs >= 24.7)'] },
    recommends: { deb: ['openssh-client'], rpm: ['openssh-clients'] },
  };
}

function completion(path: string, shell: keyof typeof COMPLETION_SCRIPTS): PackedFile {
  return { path, content: { text: COMPLETION_SCRIPTS[shell] } };
}

/** A program that another one starts by Node: without the line that names Node for a shell, which Debian checks. */
function called(file: string): Content {
  return { text: readFileSync(file, 'utf8').replace(/^#!.*/u, '') };
}

/** All lists of parts, by the names of their files. */
export function sbomsOf({ dist, sboms }: Ingredients): readonly { readonly name: string; readonly text: string }[] {
  const programs = globSync(`sbom/*${SBOM_SUFFIX}`, { cwd: dist }).map((path) => ({
    name: basename(path),
    text: readFileSync(join(dist, path), 'utf8'),
  }));
  return [...programs, ...Object.entries(sboms).map(([name, text]) => ({ name: `${name}${SBOM_SUFFIX}`, text }))];
}
